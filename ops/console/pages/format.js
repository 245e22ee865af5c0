// @ts-check
// How amounts and times are written. Times come in milliseconds since 1970, amounts in the units of their resource.

/** The last moment that a browser has a date for. */
const LAST_DATE = 8.64e15;

/** A moment as the log writes it. @param {number} at */
export function moment(at) {
  if (Math.abs(at) > LAST_DATE) return at > 0 ? "the end of time" : "the beginning of time";
  return at ? new Date(at).toISOString().replace(/\.000Z$/, "Z") : "";
}

/** @param {number} millis */
export function duration(millis) {
  const seconds = Math.max(0, Math.round(millis / 1000));
  const parts = [[86400, "d"], [3600, "h"], [60, "m"], [1, "s"]];
  const first = parts.findIndex(([unit]) => seconds >= Number(unit));
  if (first < 0) return "0 s";
  const [unit, name] = parts[first];
  const [next, small] = parts[first + 1] ?? [0, ""];
  const rest = next ? Math.floor((seconds % Number(unit)) / Number(next)) : 0;
  return `${Math.floor(seconds / Number(unit))} ${name}${rest ? ` ${rest} ${small}` : ""}`;
}

/** Milliseconds of something held, as hours. @param {number} millis */
export function hours(millis) {
  return (Number(millis) / 3600000).toLocaleString("en", { maximumFractionDigits: 4 });
}

/** An amount of a resource: CPU comes in thousandths; -1 stands for no bound. @param {string} resource @param {number} units */
export function amount(resource, units) {
  if (units === -1) return "no bound";
  if (resource === "cpu") return String(units / 1000);
  if (resource === "memory" || resource === "ephemeral-storage") return bytes(units);
  return units.toLocaleString("en");
}

/** @param {number} units */
function bytes(units) {
  const names = ["B", "KiB", "MiB", "GiB", "TiB"];
  const power = Math.min(names.length - 1, units > 0 ? Math.floor(Math.log2(units) / 10) : 0);
  return `${Math.round((units / 1024 ** power) * 10) / 10} ${names[power]}`;
}
