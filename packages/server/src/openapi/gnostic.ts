/**
 * OpenAPI v2 documents as protobuf, the only form that kubectl 1.20 to 1.26 and Argo CD read.
 *
 * The messages are gnostic's `openapi.v2`: a table says which member of the JSON goes into which field. Members that gnostic has no
 * field for are left out; extensions (`x-…`) are carried as YAML text, and JSON is YAML.
 */
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  stringifyJson,
} from "@kcp-ts/machinery/json";
import { bytesField, doubleField, integerField, textField } from "./protobuf-writer.ts";

type Encoder = (number: number, value: JsonValue) => readonly Uint8Array[];

interface Message {
  readonly fields: ReadonlyMap<string, readonly [number: number, encode: Encoder]>;
  /** The field of extensions; 0 where there are none. */
  readonly extensions: number;
}

export function encodeDocument(
  info: JsonObject,
  paths: readonly Uint8Array[],
  definitions: readonly Uint8Array[],
): Buffer {
  return Buffer.concat([
    textField(1, "2.0"),
    ...messageField(infoMessage)(2, info),
    bytesField(8, Buffer.concat(paths)),
    bytesField(9, Buffer.concat(definitions)),
  ]);
}

/** An entry of `Paths.path`. */
export function encodePath(path: string, item: JsonObject): Buffer {
  return Buffer.concat(named(2, path, encode(pathItemMessage, item)));
}

/** An entry of `Definitions.additional_properties`. */
export function encodeDefinition(name: string, schema: JsonObject): Buffer {
  return Buffer.concat(named(1, name, encode(schemaMessage(), schema)));
}

function encode(message: Message, object: JsonObject): Buffer {
  const parts: Uint8Array[] = [];
  for (const [key, value] of Object.entries(object)) {
    const field = message.fields.get(key);
    if (field !== undefined) parts.push(...field[1](field[0], value));
    else if (key.startsWith("x-") && message.extensions > 0)
      parts.push(...named(message.extensions, key, encodeAny(value)));
  }
  return Buffer.concat(parts);
}

const text: Encoder = (number, value) => [textField(number, String(value))];
const flag: Encoder = (number, value) => (value === true ? [integerField(number, 1)] : []);
const integer: Encoder = (number, value) => [integerField(number, Number(value))];
const double: Encoder = (number, value) => [doubleField(number, Number(value))];
const any: Encoder = (number, value) => [bytesField(number, encodeAny(value))];

function messageField(message: Message): Encoder {
  return (number, value) =>
    isJsonObject(value) ? [bytesField(number, encode(message, value))] : [];
}

function repeated(item: Encoder): Encoder {
  return (number, value) =>
    Array.isArray(value) ? value.flatMap((each) => [...item(number, each as JsonValue)]) : [];
}

/** Members of any name, as `repeated Named… additional_properties = <inner>` in a message of their own. */
function namedMembers(inner: number, value: (member: JsonValue) => Uint8Array): Encoder {
  return (number, members) =>
    isJsonObject(members)
      ? [
          bytesField(
            number,
            Buffer.concat(
              Object.entries(members).flatMap(([name, each]) => named(inner, name, value(each))),
            ),
          ),
        ]
      : [];
}

function named(number: number, name: string, value: Uint8Array): Uint8Array[] {
  return [bytesField(number, Buffer.concat([textField(1, name), bytesField(2, value)]))];
}

function encodeAny(value: JsonValue): Uint8Array {
  return textField(2, `${stringifyJson(value)}\n`);
}

/** TypeItem: one type or several. */
const typeItem: Encoder = (number, value) => [
  bytesField(
    number,
    Buffer.concat(
      (Array.isArray(value) ? value : [value]).map((each) => textField(1, String(each))),
    ),
  ),
];

/** Lazy, because schemas are made of schemas. */
const schema: Encoder = (number, value) => messageField(schemaMessage())(number, value);
const schemaBytes = (value: JsonValue) => encode(schemaMessage(), value as JsonObject);

let schemaTable: Message | undefined;

function schemaMessage(): Message {
  schemaTable ??= {
    extensions: 31,
    fields: new Map<string, readonly [number, Encoder]>([
      ["$ref", [1, text]],
      ["format", [2, text]],
      ["title", [3, text]],
      ["description", [4, text]],
      ["default", [5, any]],
      ["multipleOf", [6, double]],
      ["maximum", [7, double]],
      ["exclusiveMaximum", [8, flag]],
      ["minimum", [9, double]],
      ["exclusiveMinimum", [10, flag]],
      ["maxLength", [11, integer]],
      ["minLength", [12, integer]],
      ["pattern", [13, text]],
      ["maxItems", [14, integer]],
      ["minItems", [15, integer]],
      ["uniqueItems", [16, flag]],
      ["maxProperties", [17, integer]],
      ["minProperties", [18, integer]],
      ["required", [19, repeated(text)]],
      ["enum", [20, repeated(any)]],
      ["additionalProperties", [21, additionalProperties]],
      ["type", [22, typeItem]],
      ["items", [23, (number, value) => [bytesField(number, Buffer.concat(schema(1, value)))]]],
      ["allOf", [24, repeated(schema)]],
      ["properties", [25, namedMembers(1, schemaBytes)]],
    ]),
  };
  return schemaTable;
}

function additionalProperties(number: number, value: JsonValue): Uint8Array[] {
  if (typeof value === "boolean") return [bytesField(number, integerField(2, value ? 1 : 0))];
  return [bytesField(number, Buffer.concat(schema(1, value)))];
}

const infoMessage: Message = {
  extensions: 7,
  fields: new Map([
    ["title", [1, text]],
    ["version", [2, text]],
    ["description", [3, text]],
  ]),
};

const bodyParameter: Message = {
  extensions: 6,
  fields: new Map([
    ["description", [1, text]],
    ["name", [2, text]],
    ["in", [3, text]],
    ["required", [4, flag]],
    ["schema", [5, schema]],
  ]),
};

const queryParameter: Message = {
  extensions: 23,
  fields: new Map([
    ["required", [1, flag]],
    ["in", [2, text]],
    ["description", [3, text]],
    ["name", [4, text]],
    ["type", [6, text]],
    ["format", [7, text]],
    ["uniqueItems", [20, flag]],
  ]),
};

const pathParameter: Message = {
  extensions: 22,
  fields: new Map([
    ["required", [1, flag]],
    ["in", [2, text]],
    ["description", [3, text]],
    ["name", [4, text]],
    ["type", [5, text]],
    ["format", [6, text]],
    ["uniqueItems", [19, flag]],
  ]),
};

/** ParametersItem{Parameter{body | NonBodyParameter{query | path}}}. */
const parameter: Encoder = (number, value) => {
  const object = value as JsonObject;
  const wrapped =
    object["in"] === "body"
      ? bytesField(1, encode(bodyParameter, object))
      : bytesField(
          2,
          object["in"] === "path"
            ? bytesField(4, encode(pathParameter, object))
            : bytesField(3, encode(queryParameter, object)),
        );
  return [bytesField(number, bytesField(1, wrapped))];
};

const response: Message = {
  extensions: 5,
  fields: new Map([
    ["description", [1, text]],
    ["schema", [2, (number, value) => [bytesField(number, Buffer.concat(schema(1, value)))]]],
  ]),
};

const operation: Message = {
  extensions: 13,
  fields: new Map([
    ["tags", [1, repeated(text)]],
    ["description", [3, text]],
    ["operationId", [5, text]],
    ["produces", [6, repeated(text)]],
    ["consumes", [7, repeated(text)]],
    ["parameters", [8, repeated(parameter)]],
    [
      "responses",
      [9, namedMembers(1, (value) => bytesField(1, encode(response, value as JsonObject)))],
    ],
  ]),
};

const pathItemMessage: Message = {
  extensions: 10,
  fields: new Map([
    ["get", [2, messageField(operation)]],
    ["put", [3, messageField(operation)]],
    ["post", [4, messageField(operation)]],
    ["delete", [5, messageField(operation)]],
    ["patch", [8, messageField(operation)]],
    ["parameters", [9, repeated(parameter)]],
  ]),
};
