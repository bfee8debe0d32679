/** Checks values of a chart against its values.schema.json, as helm does before it renders. */

export interface ValuesSchema {
  readonly type?: "object" | "array" | "string" | "integer" | "boolean";
  readonly properties?: Readonly<Record<string, ValuesSchema>>;
  readonly additionalProperties?: ValuesSchema | false;
  readonly required?: readonly string[];
  readonly items?: ValuesSchema;
  readonly enum?: readonly unknown[];
  readonly pattern?: string;
  readonly minLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
}

/** One line for each value that the schema refuses. */
export function valueErrors(schema: ValuesSchema, value: unknown, path = ""): readonly string[] {
  const wrong = (text: string) => [`${path === "" ? "values" : path}: ${text}`];
  if (schema.type !== undefined && schema.type !== typeOf(value))
    return wrong(`${typeOf(value)} instead of ${schema.type}`);
  if (schema.enum !== undefined && !schema.enum.includes(value))
    return wrong(`one of ${schema.enum.join(", ")}`);
  if (typeof value === "string") {
    if (value.length < (schema.minLength ?? 0)) return wrong("is empty");
    if (schema.pattern !== undefined && !new RegExp(schema.pattern).test(value))
      return wrong(`does not match ${schema.pattern}`);
  }
  if (typeof value === "number") {
    const { minimum = value, maximum = value } = schema;
    if (value < minimum || value > maximum) return wrong(`is not from ${minimum} to ${maximum}`);
  }
  if (Array.isArray(value))
    return value.flatMap((item, at) =>
      schema.items === undefined ? [] : valueErrors(schema.items, item, `${path}[${at}]`),
    );
  if (typeOf(value) !== "object") return [];
  return memberErrors(schema, value as Readonly<Record<string, unknown>>, path);
}

function memberErrors(
  { properties = {}, required = [], additionalProperties }: ValuesSchema,
  value: Readonly<Record<string, unknown>>,
  path: string,
): readonly string[] {
  const missing = required
    .filter((name) => value[name] === undefined)
    .map((name) => `${path}.${name}: is required`);
  const found = Object.entries(value).flatMap(([name, member]) => {
    const known = properties[name] ?? additionalProperties;
    if (known === false) return [`${path}.${name}: is not a value of this chart`];
    return known === undefined ? [] : valueErrors(known, member, `${path}.${name}`);
  });
  return [...missing, ...found];
}

function typeOf(value: unknown): string {
  if (Array.isArray(value)) return "array";
  if (value === null) return "null";
  return Number.isInteger(value) ? "integer" : typeof value;
}
