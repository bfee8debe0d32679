/**
 * `kcp compat`: checks whether objects of one CustomResourceDefinition are valid under another. For
 * people and for CI.
 */
import { readManifests, toYaml } from "@kcp-ts/controlplane";
import { runSync } from "@kcp-ts/machinery/base";
import { type Comparison, compareSchemas, type Finding } from "@kcp-ts/machinery/compat";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { readSchema, type SchemaProps, schemaToJson } from "@kcp-ts/machinery/schema";
import type { Command } from "commander";

interface CompatFlags {
  readonly lcd: boolean;
  readonly narrow: boolean;
  readonly oldVersion?: string;
  readonly newVersion?: string;
  readonly output: "text" | "json" | "yaml";
}

/**
 * Exit codes for scripts. 1 is a failure of the command, 2 a wrong command line, as with every
 * command.
 */
export const compatExitCodes = { compatible: 0, narrowable: 3, incompatible: 4 } as const;

export function addCompat(program: Command): void {
  program
    .command("compat")
    .description(
      "Compare two CustomResourceDefinitions: may objects of the old one live under the new one?",
    )
    .argument("<old.yaml>", "the definition that objects were written for")
    .argument("<new.yaml>", "the definition that they are to pass")
    .option("--lcd", "print the old definition with the schema that both allow", false)
    .option(
      "--narrow",
      "allow a common schema that is narrower than the old one (exit code 0)",
      false,
    )
    .option("--old-version <name>", "version of the old definition (default: its first)")
    .option("--new-version <name>", "version of the new definition (default: its first)")
    .option("-o, --output <format>", "text, json or yaml", "text")
    .addHelpText(
      "after",
      `
Exit codes: 0 compatible, 3 only a narrower schema suits both, 4 incompatible or unknown.

Example:
  kcp compat widgets-v1.yaml widgets-v2.yaml || echo "this would break objects"`,
    )
    .action(run);
}

interface Definition {
  readonly manifest: JsonObject;
  readonly version: JsonObject;
  readonly schema: SchemaProps;
}

async function run(oldPath: string, newPath: string, flags: CompatFlags): Promise<void> {
  const existing = await load(oldPath, flags.oldVersion);
  const next = await load(newPath, flags.newVersion);
  const comparison = withNames(
    existing,
    next,
    runSync(compareSchemas(existing.schema, next.schema)),
  );
  const { verdict: result, common, findings } = comparison;
  if (flags.lcd && common !== undefined) print(withSchema(existing, common), flags.output);
  else if (flags.output === "text") process.stdout.write(report(comparison));
  else print({ verdict: result, findings } as unknown as JsonObject, flags.output);
  process.exitCode = flags.narrow && result === "narrowable" ? 0 : compatExitCodes[result];
}

async function load(path: string, wanted: string | undefined): Promise<Definition> {
  const manifests = await readManifests(path);
  const manifest = manifests.find(({ kind }) => kind === "CustomResourceDefinition");
  if (manifest === undefined) throw new Error(`${path} has no CustomResourceDefinition`);
  const spec = (manifest as unknown as JsonObject)["spec"] as JsonObject | undefined;
  const versions = (spec?.["versions"] ?? []) as unknown as readonly JsonObject[];
  const version = versions.find(({ name }) => wanted === undefined || name === wanted);
  if (version === undefined) {
    const names = versions.map(({ name }) => String(name)).join(", ");
    throw new Error(`${path} has no version ${wanted ?? ""}; it has ${names || "none"}`);
  }
  const json = (version["schema"] as JsonObject | undefined)?.["openAPIV3Schema"];
  if (json === undefined)
    throw new Error(`${path} has no schema in version ${String(version["name"])}`);
  const { schema, problems } = readSchema(json);
  if (schema === undefined)
    throw new Error(`${path} has a schema that cannot be read: ${problems.join("; ")}`);
  return { manifest: manifest as unknown as JsonObject, version, schema };
}

/**
 * Group, kind and scope are not part of the schema; another group, kind or scope is another API.
 */
function withNames(existing: Definition, next: Definition, comparison: Comparison): Comparison {
  const findings: Finding[] = [];
  for (const [where, read] of facets) {
    const [was, is] = [read(existing.manifest), read(next.manifest)];
    if (was !== is)
      findings.push({ kind: "incompatible", path: where, message: `was ${was}, now ${is}` });
  }
  for (const name of ["status", "scale"]) {
    if (hasSubresource(existing, name) && !hasSubresource(next, name))
      findings.push({ kind: "incompatible", path: `subresources.${name}`, message: "is gone" });
  }
  if (findings.length === 0) return comparison;
  const blocking = comparison.findings.filter(({ kind }) => kind !== "narrower");
  return { verdict: "incompatible", common: undefined, findings: [...findings, ...blocking] };
}

const specOf = (manifest: JsonObject) => manifest["spec"] as JsonObject;
const facets: readonly (readonly [string, (manifest: JsonObject) => string])[] = [
  ["spec.group", (manifest) => String(specOf(manifest)["group"])],
  ["spec.names.kind", (manifest) => String((specOf(manifest)["names"] as JsonObject)?.["kind"])],
  [
    "spec.names.plural",
    (manifest) => String((specOf(manifest)["names"] as JsonObject)?.["plural"]),
  ],
  ["spec.scope", (manifest) => String(specOf(manifest)["scope"])],
];

function hasSubresource({ version }: Definition, name: string): boolean {
  return (version["subresources"] as JsonObject | undefined)?.[name] !== undefined;
}

function withSchema({ manifest, version }: Definition, common: SchemaProps): JsonObject {
  const narrowed = { ...version, schema: { openAPIV3Schema: schemaToJson(common) } };
  return { ...manifest, spec: { ...specOf(manifest), versions: [narrowed] } };
}

function report({ verdict: result, findings }: Comparison): string {
  const lines = findings.map(({ path, message }) => `  ${path === "" ? "." : path}: ${message}`);
  return [`${words[result]}\n`, ...lines.map((line) => `${line}\n`)].join("");
}

const words = {
  compatible: "compatible: every object of the old definition passes the new one",
  narrowable: "narrower: only these suit both (print the schema with --lcd)",
  incompatible: "incompatible:",
} as const;

function print(value: JsonObject, format: CompatFlags["output"]): void {
  const text = format === "json" ? `${JSON.stringify(value, undefined, 2)}\n` : toYaml(value);
  process.stdout.write(text);
}
