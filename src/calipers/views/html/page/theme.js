// The theme: the system's, or the one that the reader chose. This runs before the page is drawn, so that it does not flash.

const THEMES = ["auto", "light", "dark"];
const root = document.documentElement;

function chosen() {
  try { return localStorage.getItem("calipers-theme"); } catch { return null; } // storage may be closed to this page
}

function choose(theme) {
  if (theme === "light" || theme === "dark") root.dataset.theme = theme;
  else delete root.dataset.theme;
}

choose(chosen());
document.addEventListener("DOMContentLoaded", () => {
  const button = document.getElementById("theme");
  const say = () => { button.textContent = `Theme: ${root.dataset.theme ?? "auto"}`; };
  button.addEventListener("click", () => {
    const next = THEMES[(THEMES.indexOf(root.dataset.theme ?? "auto") + 1) % THEMES.length];
    choose(next);
    say();
    try { localStorage.setItem("calipers-theme", next); } catch { /* then only for now */ }
  });
  say();
  button.hidden = false;
});
