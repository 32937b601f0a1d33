// The viewer's page: which address shows what.
import { render } from "preact";
import { lazy, Suspense } from "preact/compat";
import { followLinks, usePlace } from "./router";
import { TEXTS } from "./texts";
import "./style.css";

const Runs = lazy(() => import("./pages/runs"));

function App() {
  const { path } = usePlace();
  return <Suspense fallback={null}>{path === "/" || path === "/runs" ? <Runs /> : <p>{TEXTS.app.notFound}</p>}</Suspense>;
}

followLinks();
render(<App />, document.getElementById("app")!);
