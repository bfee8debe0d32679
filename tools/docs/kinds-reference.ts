/**
 * The reference of kcp's own kinds, made of the OpenAPI documents that every logical cluster
 * serves.
 */
import { startTestControlPlane } from "@kcp-ts/testing";

export const kindsPagePath = "docs/reference/kinds.md";

interface Schema {
  readonly description?: string;
  readonly type?: string;
  readonly format?: string;
  readonly enum?: readonly string[];
  readonly default?: unknown;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly allOf?: readonly Schema[];
  readonly "x-kubernetes-group-version-kind"?: readonly Kind[];
}

interface Kind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

export interface ServedKind extends Kind {
  readonly schema: Schema;
}

const bytesMax = 32 << 20;
const ownGroup = /(?:^|\.)kcp\.io$|^multicluster\.x-k8s\.io$/;

export async function servedKinds(): Promise<readonly ServedKind[]> {
  const k = await startTestControlPlane({ controlLoops: false });
  try {
    const read = async (path: string) => {
      const { body } = await k.client.send({ method: "GET", path });
      return JSON.parse(await body.text(bytesMax)) as Record<string, never>;
    };
    const { paths } = (await read("/openapi/v3")) as unknown as { paths: Record<string, object> };
    const documents = Object.keys(paths).filter((path) => ownGroup.test(path.split("/")[1] ?? ""));
    const found = await Promise.all(
      documents.map(async (path) => {
        const { components } = (await read(`/openapi/v3/${path}`)) as {
          components?: { schemas?: Record<string, Schema> };
        };
        return Object.values(components?.schemas ?? {}).flatMap((schema) => {
          const [kind] = schema["x-kubernetes-group-version-kind"] ?? [];
          const isObject = schema.properties?.["metadata"] !== undefined;
          const isOwn = kind !== undefined && ownGroup.test(kind.group) && isObject;
          return isOwn && !kind.kind.endsWith("List") ? [{ ...kind, schema }] : [];
        });
      }),
    );
    return found.flat().sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
  } finally {
    await k.close();
  }
}

const nameOf = ({ group, kind, version }: Kind) => `${group}/${kind}/${version}`;

export function kindsPage(kinds: readonly ServedKind[]): string {
  const sections = kinds.map(({ group, version, kind, schema }) => {
    const { description, properties = {}, required = [] } = schema;
    const rows = ["spec", "status"].flatMap((name) =>
      properties[name] === undefined
        ? []
        : fieldRows(properties[name], name, required.includes(name)),
    );
    const others = Object.keys(properties).filter(
      (name) => !["apiVersion", "kind", "metadata", "spec", "status"].includes(name),
    );
    for (const name of others)
      rows.push(...fieldRows(properties[name] as Schema, name, required.includes(name)));
    const table = `| field | type | meaning |\n|---|---|---|\n${rows.join("\n")}\n`;
    const head = `## ${kind} (${version})\n\n\`${group}/${version}\`\n`;
    return `${head}${description === undefined ? "" : `\n${wrapped(description)}\n`}${rows.length === 0 ? "" : `\n${table}`}`;
  });
  return `# Kinds

Written by \`npm run docs\` from what a logical cluster serves at \`/openapi/v3\`; a test compares
them. A field with a star is required. \`kubectl explain\` says the same of each kind.

${sections.join("\n")}`;
}

function fieldRows(field: Schema, path: string, isRequired: boolean): string[] {
  const [one] = field.allOf ?? [];
  const { description = "", enum: values, default: value } = { ...one, ...field };
  const notes = [
    description,
    values === undefined ? "" : `One of ${values.map((it) => `\`${it}\``).join(", ")}.`,
    value === undefined ? "" : `Default: \`${JSON.stringify(value)}\`.`,
  ].filter((text) => text !== "");
  const row = `| \`${path}\`${isRequired ? " \\*" : ""} | ${typeOf(field)} | ${cell(notes.join(" "))} |`;
  const inner = membersOf(field);
  const names = Object.entries(inner.properties ?? {});
  const suffix =
    field.type === "array" ? "[]" : field.additionalProperties === undefined ? "" : ".*";
  return [
    row,
    ...names.flatMap(([name, member]) =>
      fieldRows(member, `${path}${suffix}.${name}`, inner.required?.includes(name) ?? false),
    ),
  ];
}

function membersOf(field: Schema): Schema {
  if (field.items !== undefined) return field.items;
  if (typeof field.additionalProperties === "object") return field.additionalProperties;
  return field;
}

function typeOf({ type, format, items, additionalProperties }: Schema): string {
  if (items !== undefined) return `${typeOf(items)}[]`;
  if (typeof additionalProperties === "object") return `map of ${typeOf(additionalProperties)}`;
  return format === undefined ? (type ?? "object") : `${type} (${format})`;
}

const cell = (text: string) =>
  text.replaceAll("|", "\\|").replaceAll("<", "\\<").replaceAll("\n", " ");

/** At 100 columns, as prose is. */
function wrapped(text: string): string {
  const lines = [""];
  for (const word of text.replaceAll("<", "\\<").split(/\s+/)) {
    const line = lines.at(-1) as string;
    if (line !== "" && line.length + word.length >= 100) lines.push(word);
    else lines[lines.length - 1] = line === "" ? word : `${line} ${word}`;
  }
  return lines.join("\n");
}
