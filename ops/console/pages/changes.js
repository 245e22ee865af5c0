// @ts-check
// Hears of what happens. The browser comes back by itself with the id of what it saw last, and misses nothing.

const AGAIN_MS = 2000;

/** @param {{changed: (objects: Set<string>, upto: Record<string, number>) => void, anew: () => void, heard: (fine: boolean) => void}} listener */
export function listen(listener) {
  const source = new EventSource("api/v1/changes");
  const again = () => {
    listener.heard(false);
    // A server that answers with anything else is not come back to by itself: it may be folding, or know nobody any more.
    if (source.readyState === EventSource.CLOSED) window.setTimeout(() => { listener.anew(); listen(listener); }, AGAIN_MS);
  };
  source.addEventListener("open", () => listener.heard(true));
  source.addEventListener("error", again);
  source.addEventListener("resync", () => listener.anew());
  source.addEventListener("changes", (event) => {
    const { changes, sequences } = JSON.parse(/** @type {MessageEvent} */ (event).data);
    listener.changed(new Set(changes.flatMap((/** @type {{objects: string[]}} */ one) => one.objects)), sequences);
  });
}
