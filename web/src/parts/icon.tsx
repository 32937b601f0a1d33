// Small drawings for buttons. Each stands beside a word or in a button with a name, so that readers skip it.
const PATHS = {
  close: "M4 4l8 8M12 4l-8 8",
  sun: "M8 5a3 3 0 100 6 3 3 0 000-6zM8 1v2M8 13v2M1 8h2M13 8h2M3 3l1.4 1.4M11.6 11.6L13 13M13 3l-1.4 1.4M4.4 11.6L3 13",
  moon: "M13 9.5A5.5 5.5 0 016.5 3a5.5 5.5 0 106.5 6.5z",
  download: "M8 2v8M4.5 7L8 10.5 11.5 7M3 13.5h10",
  up: "M4 10l4-4 4 4",
  down: "M4 6l4 4 4-4",
  left: "M10 4L6 8l4 4",
  right: "M6 4l4 4-4 4",
  columns: "M2.5 3h11v10h-11zM6.2 3v10M9.8 3v10",
  search: "M7 2.5a4.5 4.5 0 100 9 4.5 4.5 0 000-9zM10.3 10.3l3.2 3.2",
  panel: "M2.5 3h11v10h-11zM9 3v10",
  table: "M2.5 3h11v10h-11zM2.5 6.4h11M2.5 9.7h11M6.5 6.4V13",
  filter: "M2 3.5h12M4.5 8h7M7 12.5h2",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} fill="none" stroke="currentColor" stroke-width="1.4" stroke-linecap="round" stroke-linejoin="round" />
    </svg>
  );
}
