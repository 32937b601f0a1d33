// Sound to listen to: its waveform, which is also the slider, and what was said and heard beside it. Nothing is loaded before it is played.
import { useEffect, useRef, useState } from "preact/hooks";
import { TEXTS } from "../texts";
import { usePainting } from "../theme";
import type { HeardWord, Hearing, Sound } from "../wire";
import { Plain, oneLine } from "./plain";

const HEIGHT = 44;

export function Player({ sound }: { sound: Sound }) {
  const audio = useRef<HTMLAudioElement>(null);
  const [isPlaying, setPlaying] = useState(false);
  const [place, setPlace] = useState(0);
  const [length, setLength] = useState(sound.seconds ?? 0);
  const [problem, setProblem] = useState("");
  const title = oneLine(sound.title, 80);
  useEffect(() => {
    if (!isPlaying) return undefined;
    let frame = requestAnimationFrame(function follow() {
      setPlace(audio.current?.currentTime ?? 0);
      frame = requestAnimationFrame(follow);
    });
    return () => cancelAnimationFrame(frame);
  }, [isPlaying]);
  const turn = async () => {
    const element = audio.current;
    if (!element) return;
    if (!element.paused) return element.pause();
    try {
      await element.play();
      setProblem("");
    } catch {
      setProblem(TEXTS.sound.broken);
    }
  };
  const seek = (wanted: number) => {
    setPlace(wanted);
    if (audio.current) audio.current.currentTime = wanted;
  };
  return (
    <section class="sound" aria-label={title}>
      <audio
        ref={audio}
        src={sound.href}
        preload="none"
        onPlay={() => setPlaying(true)}
        onPause={() => setPlaying(false)}
        onEnded={() => (setPlaying(false), setPlace(0))}
        onSeeked={(event) => setPlace(event.currentTarget.currentTime)}
        onLoadedMetadata={(event) => Number.isFinite(event.currentTarget.duration) && setLength(event.currentTarget.duration)}
        onError={() => setProblem(TEXTS.sound.broken)}
      />
      <button type="button" class="sound-play" aria-label={isPlaying ? TEXTS.sound.pause(title) : TEXTS.sound.play(title)} onClick={() => void turn()}>
        {isPlaying ? "❚❚" : "►"}
      </button>
      <div class="sound-body">
        <span class="sound-title">
          <Plain text={sound.title} />{" "}
          <span class="quiet number">
            {clock(place)} / {length ? clock(length) : "–"}
          </span>
          <a class="quiet sound-save" href={sound.href} download data-plain>
            {TEXTS.value.download}
          </a>
        </span>
        <div class="sound-wave">
          <Wave peaks={sound.peaks} share={length ? place / length : 0} />
          <input
            type="range"
            min={0}
            max={length || 1}
            step={0.01}
            value={place}
            disabled={!length}
            aria-label={TEXTS.sound.place(title)}
            aria-valuetext={`${clock(place)} ${TEXTS.sound.of} ${clock(length)}`}
            onInput={(event) => seek(event.currentTarget.valueAsNumber)}
            onKeyDown={(event) => {
              if (event.key === " " || event.key === "Enter") {
                event.preventDefault();
                void turn();
              } else if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
                event.preventDefault();
                seek(Math.min(length, Math.max(0, place + (event.key === "ArrowLeft" ? -1 : 1) * (event.shiftKey ? 5 : 1))));
              }
            }}
          />
        </div>
        {problem && (
          <p class="problem" role="alert">
            {problem}
          </p>
        )}
      </div>
    </section>
  );
}

function clock(value: number): string {
  const tenths = Math.floor(value * 10) / 10;
  return `${Math.floor(tenths / 60)}:${(tenths % 60).toFixed(1).padStart(4, "0")}`;
}

function Wave({ peaks, share }: { peaks: number[]; share: number }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  const painting = usePainting();
  useEffect(() => {
    const element = canvas.current;
    if (!element) return undefined;
    const sizes = new ResizeObserver(() => setWidth(element.clientWidth));
    sizes.observe(element);
    return () => sizes.disconnect();
  }, []);
  useEffect(() => {
    const element = canvas.current;
    const context = element?.getContext("2d");
    if (!element || !context || !width) return;
    const ratio = Math.min(2, devicePixelRatio || 1);
    element.width = width * ratio;
    element.height = HEIGHT * ratio;
    context.scale(ratio, ratio);
    const style = getComputedStyle(element);
    const [played, rest] = [style.getPropertyValue("--accent"), style.getPropertyValue("--line-strong")];
    const bars = Math.min(Math.floor(width / 3), Math.max(peaks.length, 1));
    for (let bar = 0; bar < bars; bar++) {
      const [from, to] = [Math.floor((bar / bars) * peaks.length), Math.max(Math.floor((bar / bars) * peaks.length) + 1, Math.floor(((bar + 1) / bars) * peaks.length))];
      let peak = 0;
      for (let at = from; at < to; at++) peak = Math.max(peak, Math.min(1, peaks[at] ?? 0));
      const tall = Math.max(1.5, peak * (HEIGHT - 6));
      context.fillStyle = (bar + 0.5) / bars <= share ? played : rest;
      context.fillRect((bar / bars) * width, (HEIGHT - tall) / 2, Math.max(1, width / bars - 1), tall);
    }
  }, [peaks, width, share, painting]);
  return <canvas ref={canvas} height={HEIGHT} aria-hidden="true" />;
}

/** What was said, and what of it was heard otherwise. */
export function HearingView({ hearing }: { hearing: Hearing }) {
  const wrong = hearing.words.filter((word) => word.kind !== "same").length;
  return (
    <div class="hearing">
      <h3>
        {TEXTS.sound.words}
        <span class="quiet">
          {" "}
          {wrong ? TEXTS.sound.misheard(wrong, hearing.words.length) : TEXTS.sound.allHeard}
          {hearing.word_error_rate !== null && ` · ${TEXTS.sound.errorRate(hearing.word_error_rate)}`}
        </span>
      </h3>
      <p class="hearing-words" dir="auto">
        {hearing.words.map((word, index) => (
          <span key={index}>
            <Word word={word} />{" "}
          </span>
        ))}
      </p>
      {hearing.words.length === 0 && (
        <dl class="facts">
          <dt>{TEXTS.sound.said}</dt>
          <dd>
            <Plain text={hearing.said} />
          </dd>
          <dt>{TEXTS.sound.heard}</dt>
          <dd>
            <Plain text={hearing.heard} />
          </dd>
        </dl>
      )}
    </div>
  );
}

function Word({ word }: { word: HeardWord }) {
  if (word.kind === "same") return <Plain text={word.heard} />;
  return (
    <span class="diff misheard" title={TEXTS.sound.kinds[word.kind]}>
      {word.said && (
        <del>
          <span class="sign">−</span>
          <Plain text={word.said} />
        </del>
      )}
      {word.heard && (
        <ins>
          <span class="sign">+</span>
          <Plain text={word.heard} />
        </ins>
      )}
    </span>
  );
}
