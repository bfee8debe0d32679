/**
 * `--feature-gates`: taken as kcp takes them. What kcp has behind its gates is there without being asked for, or not there at all, so none of them
 * switches anything; each is checked, and told of at the start where it asks for what is not so.
 */
import { knownFeatureGates } from "@kcp-ts/tenancy/feature-gates";
import { OptionsError } from "./options.ts";

/** What is so whatever is asked for. Of others nobody here knows. */
const fixed: ReadonlyMap<string, boolean> = new Map([
  ["WorkspaceMounts", true],
  ["WorkspaceAuthentication", true],
  ["GlobalServiceAccount", true],
  ["CacheAPIs", false],
  ["LogicalClusterMigration", false],
  ["EnableDeprecatedAPIExportVirtualWorkspacesUrls", false],
]);

/** `Name=true` each. */
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

/** Those that are not as they were asked for, or that nothing here hangs on. */
export function gatesWithoutSwitch(gates: ReadonlyMap<string, boolean>): readonly string[] {
  return [...gates].filter(([name, value]) => fixed.get(name) !== value).map(([name]) => name);
}

/** As Go reads them. */
const booleans: ReadonlyMap<string, boolean> = new Map([
  ...["1", "t", "T", "true", "TRUE", "True"].map((text) => [text, true] as const),
  ...["0", "f", "F", "false", "FALSE", "False"].map((text) => [text, false] as const),
]);

function refusal(why: string): OptionsError {
  return new OptionsError(`invalid --feature-gates: ${why}`);
}
