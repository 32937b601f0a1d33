// Who labels in this browser: the login name that the server knows, unless someone says otherwise.
import { useEffect, useState } from "preact/hooks";
import { useSession } from "../shell";

const KEPT = "calipers:person";
const CHANGED = "calipers:person";

function kept(): string {
  try {
    return localStorage.getItem(KEPT) ?? "";
  } catch {
    return "";
  }
}

export function setPerson(name: string): void {
  try {
    localStorage.setItem(KEPT, name.trim());
  } catch {
    // a page that may keep nothing asks each time
  }
  dispatchEvent(new Event(CHANGED));
}

/** The name; "" if no one has said it, `undefined` while that is not known. */
export function usePerson(): string | undefined {
  const session = useSession();
  const [name, setName] = useState(kept);
  useEffect(() => {
    const update = () => setName(kept());
    addEventListener(CHANGED, update);
    addEventListener("storage", update);
    return () => {
      removeEventListener(CHANGED, update);
      removeEventListener("storage", update);
    };
  }, []);
  return name || (session ? (session.person ?? "") : undefined);
}
