// The viewer's page: the frame, and in it the page that the address names.
import { render } from "preact";
import { Suspense } from "preact/compat";
import { listenToKeys } from "./keys";
import { Page, Waiting } from "./parts/page";
import { showWhatIsHidden } from "./parts/visible";
import { followLinks, usePlace } from "./router";
import { findPage } from "./routes";
import { Shell } from "./shell";
import { TEXTS } from "./texts";
import { keptTheme, showTheme } from "./theme";
import "./style.css";

function App() {
  const place = usePlace();
  const found = findPage(place.path);
  return (
    <Shell place={place}>
      {found ? (
        <Suspense fallback={<Waiting />}>
          <found.page key={found.pattern} place={place} {...found.parts} />
        </Suspense>
      ) : (
        <Page title={TEXTS.app.notFound}>
          <a href="/runs">{TEXTS.app.toRuns}</a>
        </Page>
      )}
    </Shell>
  );
}

showWhatIsHidden();
showTheme(keptTheme());
followLinks();
listenToKeys();
render(<App />, document.getElementById("app")!);
