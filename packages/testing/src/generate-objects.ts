/**
 * Objects of a custom resource from its schema, by seed: valid ones, and ones that break one rule
 * of the schema each. Rules in CEL are not known here: an object that is valid by its schema may
 * still be refused by them.
 */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import type { KindDefinition } from "@kcp-ts/sdk/schema";
import { SeededRandom } from "@kcp-ts/testkit";
import { expressionOf, textOfPattern } from "./text-of-pattern.ts";

export interface GenerateOptions {
  /** 1 if omitted. */
  readonly seed?: number;
  readonly count: number;
}

export interface GeneratedObject {
  readonly spec: JsonObject;
  /** What is wrong with it, as in `spec.pages: below its minimum`; undefined if it is valid. */
  readonly flaw: string | undefined;
}

const itemsMax = 3;
const depthMax = 6;

/** Every second one has a flaw, where the schema has anything to break. */
export function* generateObjects(
  definition: KindDefinition,
  { seed = 1, count }: GenerateOptions,
): Generator<GeneratedObject> {
  const schema = specSchema(definition);
  const random = new SeededRandom(seed);
  for (let n = 0; n < count; n++) {
    const spec = anyValueOf(schema, random, 0) as JsonObject;
    const flaws = n % 2 === 0 ? [] : flawsOf(schema, spec, "spec");
    const chosen = flaws[Math.floor(random.next() * flaws.length)];
    if (chosen === undefined) yield { spec, flaw: undefined };
    else yield { spec: chosen.broken as JsonObject, flaw: chosen.flaw };
  }
}

function specSchema({ spec, metadata }: KindDefinition): JsonObject {
  const versions = spec["versions"] as readonly JsonObject[];
  const stored = versions.find((one) => one["storage"] === true) ?? versions[0];
  const schema = stored?.["schema"] as JsonObject | undefined;
  const root = schema?.["openAPIV3Schema"] as JsonObject | undefined;
  const found = propertiesOf(root ?? {})["spec"];
  if (found === undefined) throw new Error(`${metadata.name} has no schema of a spec`);
  return found;
}

function propertiesOf(schema: JsonObject): Readonly<Record<string, JsonObject>> {
  return (schema["properties"] ?? {}) as Record<string, JsonObject>;
}

function requiredOf(schema: JsonObject): readonly string[] {
  return (schema["required"] ?? []) as readonly string[];
}

function numberOf(schema: JsonObject, name: string, otherwise: number): number {
  const value = schema[name];
  return typeof value === "number" ? value : otherwise;
}

function between(random: SeededRandom, least: number, most: number): number {
  return least + Math.floor(random.next() * (most - least + 1));
}

function anyValueOf(schema: JsonObject, random: SeededRandom, depth: number): JsonValue {
  const values = schema["enum"] as readonly JsonValue[] | undefined;
  if (values !== undefined) return values[between(random, 0, values.length - 1)] ?? null;
  switch (schema["type"]) {
    case "object":
      return objectOf(schema, random, depth);
    case "array": {
      const least = numberOf(schema, "minItems", 0);
      const most = Math.min(numberOf(schema, "maxItems", itemsMax), least + itemsMax);
      const items = (schema["items"] ?? {}) as JsonObject;
      const length = between(random, least, most);
      const all = Array.from({ length }, () => anyValueOf(items, random, depth + 1));
      return withoutDoubles(schema, all);
    }
    case "integer":
    case "number":
      return numberIn(schema, random);
    case "boolean":
      return random.next() < 0.5;
    case "string":
      return textOf(schema, random);
    default:
      return schema["x-kubernetes-int-or-string"] === true ? between(random, 0, 9) : {};
  }
}

function numberIn(schema: JsonObject, random: SeededRandom): number {
  const step = numberOf(schema, "multipleOf", 1);
  const first = numberOf(schema, "minimum", 0) + (schema["exclusiveMinimum"] === true ? step : 0);
  const last = numberOf(schema, "maximum", first + 1000 * step);
  const end = Math.min(last - (schema["exclusiveMaximum"] === true ? step : 0), 2 ** 31 - 1);
  return between(random, Math.ceil(first / step), Math.floor(end / step)) * step;
}

/** What tells the items of a set, or of a map, from each other. */
function identityOf(schema: JsonObject): ((item: JsonValue) => string) | undefined {
  const type = schema["x-kubernetes-list-type"];
  if (type === "set") return (item) => JSON.stringify(item);
  if (type !== "map") return undefined;
  const keys = (schema["x-kubernetes-list-map-keys"] ?? []) as readonly string[];
  return (item) => JSON.stringify(keys.map((key) => (item as JsonObject)[key] ?? null));
}

function withoutDoubles(schema: JsonObject, items: readonly JsonValue[]): JsonValue[] {
  const identity = identityOf(schema);
  if (identity === undefined) return [...items];
  return [...new Map(items.map((item) => [identity(item), item])).values()];
}

function objectOf(schema: JsonObject, random: SeededRandom, depth: number): JsonObject {
  const required = requiredOf(schema);
  const made: Record<string, JsonValue> = {};
  for (const [name, property] of Object.entries(propertiesOf(schema))) {
    const isWanted = required.includes(name) || (depth < depthMax && random.next() < 0.7);
    if (isWanted) made[name] = anyValueOf(property, random, depth + 1);
  }
  const values = schema["additionalProperties"];
  if (isJsonObject(values)) made["key"] = anyValueOf(values, random, depth + 1);
  return made;
}

function textOf(schema: JsonObject, random: SeededRandom): string {
  const { format, pattern } = schema;
  const sample = typeof format === "string" ? samples[format] : undefined;
  if (sample !== undefined) return sample;
  const least = numberOf(schema, "minLength", 0);
  const most = Math.min(numberOf(schema, "maxLength", least + 12), least + 12);
  const longest = numberOf(schema, "maxLength", Infinity);
  const fits = (text: string) => text.length >= least && text.length <= longest;
  if (typeof pattern === "string") {
    const made = textOfPattern(pattern, random);
    if (made !== undefined && fits(made)) return made;
  }
  const length = between(random, least, most);
  return Array.from({ length }, () => letters[between(random, 0, letters.length - 1)]).join("");
}

const letters = "abcdefghijklmnopqrstuvwxyz0123456789";

/** A text of each format that a server of Kubernetes checks. */
const samples: Readonly<Record<string, string>> = {
  "date-time": "2026-01-01T00:00:00Z",
  date: "2026-01-01",
  duration: "90s",
  email: "someone@example.com",
  hostname: "host.example.com",
  ipv4: "192.0.2.1",
  ipv6: "2001:db8::1",
  cidr: "192.0.2.0/24",
  mac: "00:00:5e:00:53:01",
  uri: "https://example.com/path",
  uuid: "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
  byte: "aGVsbG8=",
};

interface Flaw {
  readonly flaw: string;
  /** The complete value with this flaw. */
  readonly broken: JsonValue;
}

/** Few patterns match it. */
const unlikely = "\u00a7 \u00a7";

/** Too many items, too few, and an item that is there twice. */
function flawsOfLength(
  schema: JsonObject,
  value: readonly JsonValue[],
  here: (flaw: string, broken: JsonValue) => Flaw,
): Flaw[] {
  const found: Flaw[] = [];
  const [item] = value;
  const { minItems, maxItems } = schema;
  if (typeof minItems === "number" && minItems > 0)
    found.push(here("too few items", value.slice(0, minItems - 1)));
  if (item === undefined) return found;
  if (identityOf(schema) !== undefined) found.push(here("has an item twice", [...value, item]));
  else if (typeof maxItems === "number")
    found.push(
      here(
        "too many items",
        Array.from({ length: maxItems + 1 }, () => item),
      ),
    );
  return found;
}

/** Every way to break one rule of the schema at one place of the value. */
function flawsOf(schema: JsonObject, value: JsonValue, path: string): Flaw[] {
  const here = (flaw: string, broken: JsonValue): Flaw => ({ flaw: `${path}: ${flaw}`, broken });
  const found: Flaw[] = [];
  const type = schema["type"];
  if (type === "string" || type === "boolean") found.push(here("is a number", 7));
  if (type === "integer" || type === "number" || type === "array")
    found.push(here("is a string", "seven"));
  if (schema["enum"] !== undefined && type === "string")
    found.push(here("is none of its values", "none-of-them"));
  const least = schema["minimum"];
  if (typeof least === "number") found.push(here("below its minimum", least - 1));
  const most = schema["maximum"];
  if (typeof most === "number") found.push(here("beyond its maximum", most + 1));
  const longest = schema["maxLength"];
  if (typeof longest === "number" && schema["enum"] === undefined)
    found.push(here("too long", "x".repeat(longest + 1)));
  const shortest = schema["minLength"];
  if (typeof shortest === "number" && shortest > 0 && schema["enum"] === undefined)
    found.push(here("too short", "x".repeat(shortest - 1)));
  const { pattern } = schema;
  if (typeof pattern === "string" && expressionOf(pattern)?.test(unlikely) === false)
    found.push(here("does not match its pattern", unlikely));
  if (Array.isArray(value)) {
    found.push(...flawsOfLength(schema, value, here));
    const items = (schema["items"] ?? {}) as JsonObject;
    for (const [at, item] of value.entries()) {
      for (const { flaw, broken } of flawsOf(items, item, `${path}[${at}]`))
        found.push({ flaw, broken: value.with(at, broken) });
    }
  } else if (isJsonObject(value)) {
    for (const name of requiredOf(schema)) {
      const { [name]: _, ...without } = value;
      const isDefaulted = propertiesOf(schema)[name]?.["default"] !== undefined;
      if (!isDefaulted) found.push(here(`without ${name}`, without));
    }
    for (const [name, property] of Object.entries(propertiesOf(schema))) {
      const member = value[name];
      if (member === undefined) continue;
      for (const { flaw, broken } of flawsOf(property, member, `${path}.${name}`))
        found.push({ flaw, broken: { ...value, [name]: broken } });
    }
  }
  return found;
}
