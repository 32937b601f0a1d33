// A key as it stands on the button that it presses.
import { keyText, useLettersAreOn } from "../keys";

export function KeyCap({ name }: { name: string }) {
  const on = useLettersAreOn();
  if (!on && !name.includes(" ") && name.length === 1) return null;
  return (
    <kbd aria-hidden="true">
      {name
        .split(" ")
        .map(keyText)
        .join(" ")}
    </kbd>
  );
}
