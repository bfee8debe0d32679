/**
 * `--feature-gates`, with kcp's syntax. The features behind kcp's gates are either always on or not
 * implemented, so no gate has an effect; each is validated, and reported at the start if its
 * requested value is not the actual one.
 */
import { knownFeatureGates } from "./known-feature-gates.ts";

/** The actual values. Other gates are unknown here. */
const fixed: ReadonlyMap<string, boolean> = new Map([
  ["WorkspaceMounts", true],
  ["WorkspaceAuthentication", true],
  ["GlobalServiceAccount", true],
  ["CacheAPIs", false],
  ["LogicalClusterMigration", false],
  ["EnableDeprecatedAPIExportVirtualWorkspacesUrls", false],
]);

/** A value that is not `Name=true` or `Name=false`, or a name that is not known. */
export class FeatureGateError extends Error {}

/** `Name=true` each. Throws a `FeatureGateError`. */
export function parseFeatureGates(pairs: readonly string[]): ReadonlyMap<string, boolean> {
  const gates = new Map<string, boolean>();
  for (const pair of pairs.map((each) => each.trim()).filter((each) => each !== "")) {
    const at = pair.indexOf("=");
    if (at < 0) throw refusal(`missing bool value for ${pair}`);
    const [name, text] = [pair.slice(0, at).trim(), pair.slice(at + 1).trim()];
    const value = booleans.get(text);
    if (value === undefined)
      throw refusal(
        `invalid value of ${name}=${text}, err: strconv.ParseBool: parsing ${JSON.stringify(text)}: invalid syntax`,
      );
    if (!knownFeatureGates.has(name)) throw refusal(`unrecognized feature gate: ${name}`);
    gates.set(name, value);
  }
  return gates;
}

/** The gates whose requested value differs from the actual one, or that have no effect. */
export function gatesWithoutSwitch(gates: ReadonlyMap<string, boolean>): readonly string[] {
  return [...gates].filter(([name, value]) => fixed.get(name) !== value).map(([name]) => name);
}

/** As Go reads them. */
const booleans: ReadonlyMap<string, boolean> = new Map([
  ...["1", "t", "T", "true", "TRUE", "True"].map((text) => [text, true] as const),
  ...["0", "f", "F", "false", "FALSE", "False"].map((text) => [text, false] as const),
]);

function refusal(why: string): FeatureGateError {
  return new FeatureGateError(`invalid --feature-gates: ${why}`);
}
