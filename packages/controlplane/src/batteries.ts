/**
 * Features that help to try kcp out and may be unwanted in production, as `--batteries-included`
 * names them.
 */
import { OptionsError } from "./options.ts";

export const batteryNames = ["workspace-types", "admin", "user", "metrics-viewer"] as const;
export type Battery = (typeof batteryNames)[number];

const defaults: readonly Battery[] = ["workspace-types", "admin"];

/** A complete list, or changes of the default: `+user,-admin`. */
export function batteriesOf(given: readonly string[] = defaults): ReadonlySet<Battery> {
  const changes = given.filter((each) => /^[+-]/.test(each));
  if (changes.length > 0 && changes.length < given.length)
    throw new OptionsError("--batteries-included must all be prefixed with + or - or none");
  const batteries = new Set<Battery>(changes.length > 0 ? defaults : []);
  for (const each of given) {
    const name = each.replace(/^[+-]/, "") as Battery;
    if (!batteryNames.includes(name)) throw new OptionsError(`unknown battery: ${name}`);
    if (each.startsWith("-")) batteries.delete(name);
    else batteries.add(name);
  }
  if (batteries.has("user") && !batteries.has("admin"))
    throw new OptionsError("battery user enabled which requires admin as well");
  return batteries;
}
