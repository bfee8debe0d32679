/**
 * OpenAPI v2 documents as protobuf, the only encoding that kubectl 1.20 to 1.26 and Argo CD read.
 *
 * The messages are gnostic's `openapi.v2`: a table maps members of the JSON to fields. Members
 * without a field in gnostic are omitted; extensions (`x-…`) are encoded as YAML text, and JSON is
 * YAML.
 */
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  stringifyJson,
} from "@kcp-ts/machinery/json";
import { Chunks } from "./chunks.ts";
import { ProtobufWriter } from "./protobuf-writer.ts";

export function encodeDocument(
  info: JsonObject,
  paths: Chunks,
  definitions: Chunks,
): readonly Buffer[] {
  const document = new Chunks();
  const head = new ProtobufWriter();
  head.text(1, "2.0");
  writeMessage(infoMessage)(head, 2, info);
  head.messageHead(8, paths.length);
  document.add(head.finish());
  document.addAll(paths);
  const next = new ProtobufWriter();
  next.messageHead(9, definitions.length);
  document.add(next.finish());
  document.addAll(definitions);
  return document.finish();
}

/** An entry of `Paths.path`. */
export function encodePath(path: string, item: JsonObject): Buffer {
  const writer = new ProtobufWriter();
  writeNamed(writer, 2, path, () => writeMembers(writer, pathItemMessage, item));
  return writer.finish();
}

/** An entry of `Definitions.additional_properties`. */
export function encodeDefinition(name: string, schema: JsonObject): Buffer {
  const writer = new ProtobufWriter();
  writeNamed(writer, 1, name, () => writeMembers(writer, schemaMessage, schema));
  return writer.finish();
}

/** Writes a member as a field of that number. */
type FieldWriter = (writer: ProtobufWriter, number: number, value: JsonValue) => void;

interface Message {
  readonly fields: ReadonlyMap<string, readonly [number: number, write: FieldWriter]>;
  readonly extensions: number;
}

function writeMembers(writer: ProtobufWriter, message: Message, object: JsonObject): void {
  for (const [key, value] of Object.entries(object)) {
    const field = message.fields.get(key);
    if (field !== undefined) field[1](writer, field[0], value);
    else if (key.startsWith("x-"))
      writeNamed(writer, message.extensions, key, () => writeAny(writer, value));
  }
}

function writeNamed(writer: ProtobufWriter, number: number, name: string, value: () => void): void {
  writer.message(number, () => {
    writer.text(1, name);
    writer.message(2, value);
  });
}

function writeAny(writer: ProtobufWriter, value: JsonValue): void {
  writer.text(2, `${stringifyJson(value)}\n`);
}

const text: FieldWriter = (writer, number, value) => writer.text(number, String(value));
const integer: FieldWriter = (writer, number, value) => writer.integer(number, Number(value));
const double: FieldWriter = (writer, number, value) => writer.double(number, Number(value));
const flag: FieldWriter = (writer, number, value) => {
  if (value === true) writer.integer(number, 1);
};
const any: FieldWriter = (writer, number, value) =>
  writer.message(number, () => writeAny(writer, value));

function writeMessage(message: Message): FieldWriter {
  return (writer, number, value) => {
    if (isJsonObject(value))
      writer.message(number, () => writeMembers(writer, message, value as JsonObject));
  };
}

function repeated(item: FieldWriter): FieldWriter {
  return (writer, number, value) => {
    if (Array.isArray(value)) for (const each of value) item(writer, number, each as JsonValue);
  };
}

/** Members of any name, in a message of their own: `repeated NamedX additional_properties = 1`. */
function namedMembers(write: (writer: ProtobufWriter, value: JsonValue) => void): FieldWriter {
  return (writer, number, value) => {
    if (!isJsonObject(value)) return;
    writer.message(number, () => {
      for (const [name, each] of Object.entries(value))
        writeNamed(writer, 1, name, () => write(writer, each));
    });
  };
}

/** A message whose first field is the value: ItemsItem, SchemaItem, AdditionalPropertiesItem. */
function wrapped(item: FieldWriter): FieldWriter {
  return (writer, number, value) => writer.message(number, () => item(writer, 1, value));
}

const additionalProperties: FieldWriter = (writer, number, value) =>
  typeof value === "boolean"
    ? writer.message(number, () => writer.integer(2, value ? 1 : 0))
    : wrapped(schema)(writer, number, value);

/** One type or several. */
const typeItem: FieldWriter = (writer, number, value) =>
  writer.message(number, () => repeated(text)(writer, 1, Array.isArray(value) ? value : [value]));

function schema(writer: ProtobufWriter, number: number, value: JsonValue): void {
  writeMessage(schemaMessage)(writer, number, value);
}

const schemaMessage: Message = {
  extensions: 31,
  fields: new Map<string, readonly [number, FieldWriter]>([
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
    ["items", [23, wrapped(schema)]],
    ["allOf", [24, repeated(schema)]],
    [
      "properties",
      [
        25,
        namedMembers((writer, value) => writeMembers(writer, schemaMessage, value as JsonObject)),
      ],
    ],
  ]),
};

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

/** ParametersItem{Parameter{BodyParameter | NonBodyParameter{query | path}}}. */
const parameter: FieldWriter = (writer, number, value) => {
  const object = value as JsonObject;
  const nonBody = () =>
    object["in"] === "path"
      ? writeMessage(pathParameter)(writer, 4, object)
      : writeMessage(queryParameter)(writer, 3, object);
  writer.message(number, () =>
    writer.message(1, () =>
      object["in"] === "body"
        ? writeMessage(bodyParameter)(writer, 1, object)
        : writer.message(2, nonBody),
    ),
  );
};

const responseMessage: Message = {
  extensions: 5,
  fields: new Map([
    ["description", [1, text]],
    ["schema", [2, wrapped(schema)]],
  ]),
};

const operation = writeMessage({
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
      [9, namedMembers((writer, value) => writeMessage(responseMessage)(writer, 1, value))],
    ],
  ]),
});

const pathItemMessage: Message = {
  extensions: 10,
  fields: new Map([
    ["get", [2, operation]],
    ["put", [3, operation]],
    ["post", [4, operation]],
    ["delete", [5, operation]],
    ["patch", [8, operation]],
    ["parameters", [9, repeated(parameter)]],
  ]),
};
