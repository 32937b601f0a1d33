// Characters that cannot be seen, or that turn the text around them, are shown wherever text stands: also where a part puts a name or a
// message on the page as it is, without `Plain`. Every element is looked at as it is made, before any of it reaches the page.
import { Fragment, options, type VNode } from "preact";
import { isVisible, visible } from "./plain";

/** Attributes that are read. */
const READ = ["title", "aria-label", "alt", "placeholder", "label"];

type Props = Record<string, unknown>;

export function showWhatIsHidden(): void {
  const before = options.vnode;
  options.vnode = (vnode) => {
    if (typeof vnode.type === "string") {
      const props = vnode.props as Props;
      for (const name of READ) {
        const text = props[name];
        if (typeof text === "string" && !isVisible(text)) props[name] = visible(text);
      }
      see(props);
    } else if (vnode.type === Fragment) see((vnode as VNode<Props>).props);
    before?.(vnode);
  };
}

function see(props: Props): void {
  const { children } = props;
  if (typeof children === "string") {
    if (!isVisible(children)) props["children"] = visible(children);
  } else if (Array.isArray(children) && children.some((child) => typeof child === "string" && !isVisible(child))) {
    props["children"] = children.map((child: unknown) => (typeof child === "string" ? visible(child) : child));
  }
}
