/**
 * Writes shapes as tables: a line for each message, in the notation that `shape-table.ts` of
 * machinery reads.
 */

import { fileName, groupName, header, tableName } from "./generated-file.ts";
import { constantName, type NamedMessage, uniqueName } from "./named-messages.ts";
import {
  definitionName,
  type FieldInfo,
  type ListInfo,
  type MessageInfo,
  type PublishedTypes,
  packageOf,
  shortName,
  type TypeInfo,
} from "./published-types.ts";
import type { GroupVersionKind } from "./read-openapi.ts";

/** Path below \`generated/\` → text. */
export function shapeFiles(
  types: PublishedTypes,
  named: readonly NamedMessage[],
): ReadonlyMap<string, string> {
  const packages = new Map<string, Map<string, MessageInfo>>();
  for (const { message } of named) {
    for (const reached of types.reach(message)) {
      const scope = packageOf(reached.name);
      const messages = packages.get(scope) ?? new Map<string, MessageInfo>();
      packages.set(scope, messages.set(reached.name, reached));
    }
  }
  return new Map([
    ["index.ts", indexFile(named)] as const,
    ...[...packages].map(
      ([scope, messages]) =>
        [
          `${fileName(scope)}.ts`,
          tableFile(
            scope,
            [...messages.values()].sort((a, b) => (a.name < b.name ? -1 : 1)),
            named.map(({ message }) => message).filter((message) => packageOf(message) === scope),
          ),
        ] as const,
    ),
  ]);
}

/** All of them, and the kinds by the names that clients send. */
function indexFile(named: readonly NamedMessage[]): string {
  const scopes = [...new Set(named.map(({ message }) => packageOf(message)))];
  return [
    header,
    'import type { MessageShape } from "../shape.ts";\n',
    ...scopes
      .filter((scope) => named.some(({ message, kind }) => kind && packageOf(message) === scope))
      .map((scope) => `import * as ${tableName(scope)} from "./${fileName(scope)}.ts";\n`),
    ...scopes.map((scope) => {
      const names = named
        .filter(({ message }) => packageOf(message) === scope)
        .map(({ message }) => {
          const constant = constantName(shortName(message));
          const name = uniqueName(message, named);
          return `  ${name === constant ? name : `${constant} as ${name}`},\n`;
        });
      return `\nexport {\n${names.join("")}} from "./${fileName(scope)}.ts";\n`;
    }),
    "\n/** By `<group>/<version>/<Kind>`, or `v1/<Kind>` of the core group. */\n",
    "export const kindShapes: ReadonlyMap<string, MessageShape> = /* @__PURE__ */ new Map([\n",
    ...named.flatMap(({ message, kind }) => {
      const shape = `${tableName(packageOf(message))}.${constantName(shortName(message))}`;
      return kind === undefined ? [] : `  ["${apiVersionAndKind(kind)}", ${shape}],\n`;
    }),
    "]);\n",
  ].join("");
}

function apiVersionAndKind({ group, version, kind }: GroupVersionKind): string {
  return [group, version, kind].filter((part) => part !== "").join("/");
}

function tableFile(
  scope: string,
  messages: readonly MessageInfo[],
  named: readonly string[],
): string {
  const others = new Set<string>();
  const lines = messages.map((message) => messageLine(message, scope, others));
  const imported = [...others].sort((a, b) => (fileName(a) < fileName(b) ? -1 : 1));
  const tables = imported.map((other) => `${groupName(other)}: ${tableName(other)}`);
  return [
    header,
    named.length === 0 ? "" : 'import type { MessageShape } from "../shape.ts";\n',
    'import { ShapeTable } from "../shape-table.ts";\n',
    ...imported.map((other) => `import { ${tableName(other)} } from "./${fileName(other)}.ts";\n`),
    `\nexport const ${tableName(scope)}: ShapeTable = /* @__PURE__ */ new ShapeTable(\n`,
    `  "${definitionName(scope)}",\n  {${tables.length === 0 ? "" : ` ${tables.join(", ")} `}},\n`,
    `  \`\n${lines.join("\n")}\n\`,\n);\n`,
    ...named
      .map(shortName)
      .map(
        (name) =>
          `\nexport const ${constantName(name)}: MessageShape = /* @__PURE__ */ ${tableName(scope)}.message("${name}");\n`,
      ),
  ].join("");
}

function messageLine(message: MessageInfo, scope: string, others: Set<string>): string {
  const fields = message.fields.map((field) => fieldText(field, scope, others));
  return [`${shortName(message.name)}${message.isAtomic ? "!" : ""}`, ...fields].join(" ");
}

function fieldText(field: FieldInfo, scope: string, others: Set<string>): string {
  const mark = field.isRequired ? "*" : "";
  const kept = field.keepsEmpty ? "+" : "";
  const value = field.isValue ? "=" : "";
  return `${field.name}${mark}${kept}${value}:${field.number}:${typeText(field.type, scope, others)}`;
}

function typeText(type: TypeInfo, scope: string, others: Set<string>): string {
  switch (type.kind) {
    case "scalar":
      return `${type.scalar}${type.isZeroless ? "?" : ""}`;
    case "message":
      return `${messageText(type.name, scope, others)}${type.isGranular ? "~" : ""}`;
    case "union": {
      const members = type.members.map(({ role, number }) => `,${role}${number}`);
      return `<${messageText(type.name, scope, others)}${members.join("")}>`;
    }
    case "map":
      return `{${typeText(type.values, scope, others)}}${type.isAtomic ? "!" : ""}`;
    case "list":
      return `[${typeText(type.items, scope, others)}]${listText(type.list)}`;
  }
}

function messageText(name: string, scope: string, others: Set<string>): string {
  const other = packageOf(name);
  if (other === scope) return shortName(name);
  others.add(other);
  return `${groupName(other)}.${shortName(name)}`;
}

/** A patch merges by the first key unless the text says otherwise. */
function listText({ type, keys, mergeKey }: ListInfo): string {
  const patch = type === "atomic" ? undefined : (keys[0] ?? "");
  const exception = mergeKey === patch ? "" : mergeKey === undefined ? "!" : `@${mergeKey}`;
  if (type === "map") return `(${keys.join(",")})${exception}`;
  return `${type === "set" ? "set" : ""}${exception}`;
}
