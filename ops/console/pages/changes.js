// @ts-check
// Hears of what happens. The browser comes back by itself with the id of what it saw last, and misses nothing.

/** @param {{changed: (objects: Set<string>) => void, anew: () => void, heard: (fine: boolean) => void}} listener */
export function listen(listener) {
  const source = new EventSource("api/v1/changes");
  source.addEventListener("open", () => listener.heard(true));
  source.addEventListener("error", () => listener.heard(false));
  source.addEventListener("resync", () => listener.anew());
  source.addEventListener("changes", (event) => {
    const { changes } = JSON.parse(/** @type {MessageEvent} */ (event).data);
    listener.changed(new Set(changes.flatMap((/** @type {{objects: string[]}} */ one) => one.objects)));
  });
  return source;
}
