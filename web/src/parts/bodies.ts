// What steps were given and gave, asked for when they are looked at, many at a time.
import { useEffect, useState } from "preact/hooks";
import { Refused, call, read } from "../api";
import type { StepBody, StepsAnswer } from "../wire";

const AT_ONCE = 100;
const MOST_KEPT = 4000;

export type Body = StepBody | Refused | undefined;

export class Bodies {
  private readonly known = new Map<number, StepBody | Refused>();
  private readonly asked = new Set<number>();
  private readonly listeners = new Set<() => void>();
  private waiting = new Set<number>();

  constructor(readonly root: string) {}

  get(id: number): Body {
    return this.known.get(id);
  }

  need(ids: Iterable<number>): void {
    const before = this.waiting.size;
    for (const id of ids) if (!this.known.has(id) && !this.asked.has(id)) this.waiting.add(id);
    if (!before && this.waiting.size) setTimeout(() => this.ask(), 20);
  }

  again(id: number): void {
    this.known.delete(id);
    this.need([id]);
  }

  listen(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  private ask(): void {
    const ids = [...this.waiting];
    this.waiting = new Set();
    for (let at = 0; at < ids.length; at += AT_ONCE) void this.load(ids.slice(at, at + AT_ONCE));
  }

  private async load(ids: number[]): Promise<void> {
    for (const id of ids) this.asked.add(id);
    try {
      const { steps } = await read<StepsAnswer>(call(`${this.root}/steps`, { ids: ids.join(",") }));
      if (this.known.size > MOST_KEPT) this.known.clear();
      for (const step of steps) this.known.set(step.id, step);
      for (const id of ids) if (!this.known.has(id)) this.known.set(id, missing(id));
    } catch (error) {
      const refused = error instanceof Refused ? error : new Refused({ code: "page", message: String(error), at: null }, 0);
      for (const id of ids) this.known.set(id, refused);
    }
    for (const id of ids) this.asked.delete(id);
    for (const listener of this.listeners) listener();
  }
}

function missing(id: number): StepBody {
  const none = { kind: "missing", text: "", length: 0, href: null, talk: null } as const;
  return { id, content: none, arguments: none, output: none, error: "", details: none, sounds: [] };
}

/** The body of a step; it is asked for if `wanted`. */
export function useBody(bodies: Bodies, id: number | null, wanted = true): Body {
  const [body, setBody] = useState<Body>(id === null ? undefined : bodies.get(id));
  useEffect(() => {
    const update = () => setBody(id === null ? undefined : bodies.get(id));
    update();
    if (id !== null && wanted) bodies.need([id]);
    return bodies.listen(update);
  }, [bodies, id, wanted]);
  return body;
}
