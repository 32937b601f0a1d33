// What a benchmark puts into each page of the viewer: steps of a person, each with the milliseconds until a frame shows what came of it.
window.timed = (() => {
  const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));
  const until = async (is) => {
    const end = performance.now() + 30_000;
    while (!is()) {
      if (performance.now() > end) throw new Error("nothing came of it: " + is);
      await frame();
    }
  };
  const grid = () => document.querySelector("[role=grid]");
  const rows = () => [...grid().querySelectorAll("[data-place]")].map((row) => Number(row.dataset.place));
  const isThere = () => {
    const box = grid().getBoundingClientRect();
    const filled = [...grid().querySelectorAll("[data-row]")].map((row) => row.getBoundingClientRect());
    const seen = filled.filter((row) => row.bottom > box.top && row.top < box.bottom);
    const total = Number(grid().getAttribute("aria-rowcount")) - 1;
    return seen.length >= total || seen.reduce((sum, row) => sum + row.height, 0) >= box.height - 100;
  };
  /** From something done to the frame in which a table shows what came of it. */
  const listed = async (act, isOther) => {
    const begun = performance.now();
    act();
    await until(isOther);
    await frame();
    await until(() => grid().getAttribute("aria-busy") === "false" && isThere());
    return performance.now() - begun;
  };
  const scrolled = (to) => {
    const before = grid().scrollTop;
    return listed(() => { grid().scrollTop = to(grid()); }, () => grid().scrollTop !== before);
  };
  const wait = (seconds) => new Promise((done) => setTimeout(done, 1000 * seconds));
  return {
    page: () => scrolled((grid) => grid.scrollTop + grid.clientHeight - 60),
    jump: (share) => scrolled((grid) => share * (grid.scrollHeight - grid.clientHeight)),
    sort: (title) => {
      const before = location.search;
      const button = [...document.querySelectorAll("[role=columnheader] button")].find((each) => each.textContent.trim() === title);
      return listed(() => button.click(), () => location.search !== before);
    },
    filter: async (text) => {
      const input = document.querySelector("input.filter-input");
      const before = location.search;
      input.focus();
      Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set.call(input, text);
      input.dispatchEvent(new InputEvent("input", { bubbles: true }));
      await frame();
      const enter = new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true });
      const took = await listed(() => input.dispatchEvent(enter), () => location.search !== before);
      input.blur();
      await wait(0.5);
      return took;
    },
    rows: () => rows().length,
    total: () => Number(grid().getAttribute("aria-rowcount")) - 1,
    first: () => new Promise((done) => new PerformanceObserver((list) => {
      const found = list.getEntries().find((each) => each.name === "first-contentful-paint");
      if (found) done(found.startTime);
    }).observe({ type: "paint", buffered: true })),
    trace: async (share) => {
      const box = document.querySelector(".waterfall-rows");
      const before = box.scrollTop;
      const begun = performance.now();
      box.scrollTop = share * (box.scrollHeight - box.clientHeight);
      await until(() => box.scrollTop !== before);
      await frame();
      const rect = box.getBoundingClientRect();
      await until(() => [...box.querySelectorAll(".waterfall-row")].some((row) => row.getBoundingClientRect().top < rect.bottom - 30 && row.getBoundingClientRect().bottom > rect.top));
      return performance.now() - begun;
    },
    step: async () => {
      const before = document.querySelector(".trace-detail").textContent;
      const rows = [...document.querySelectorAll(".waterfall-row[aria-selected=false]")];
      const begun = performance.now();
      rows[Math.floor(rows.length / 2)].click();
      await until(() => document.querySelector(".trace-detail").textContent !== before && document.querySelector(".trace-detail .value"));
      await frame();
      return performance.now() - begun;
    },
  };
})();
(() => {
  const wanted = window.shown;
  window.seen = {};
  const look = () => {
    for (const [name, selector] of Object.entries(wanted))
      if (!(name in window.seen) && document.querySelector(selector)) window.seen[name] = performance.now();
    requestAnimationFrame(look);
  };
  look();
})();
