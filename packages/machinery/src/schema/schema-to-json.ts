/** SchemaProps back to JSON, empty keywords left out: what OpenAPI documents publish. */
import { type JsonObject, type JsonValue, setMember } from "../json/index.ts";
import { isSchema, type SchemaProps, type ValidationRule } from "./schema-props.ts";

type Json = { [key: string]: JsonValue };

export function schemaToJson(schema: SchemaProps): JsonObject {
  const json: Json = {};
  const put = (keyword: string, value: JsonValue | undefined): void => {
    if (value !== undefined && value !== "" && value !== false) setMember(json, keyword, value);
  };
  put("description", schema.description);
  put("type", schema.type);
  put("format", schema.format);
  put("title", schema.title);
  if (schema.default !== undefined) json["default"] = schema.default;
  for (const keyword of numberKeywords) put(keyword, schema[keyword]);
  put("exclusiveMaximum", schema.exclusiveMaximum);
  put("exclusiveMinimum", schema.exclusiveMinimum);
  put("pattern", schema.pattern);
  put("uniqueItems", schema.uniqueItems);
  put("enum", schema.enum);
  if (schema.required.length > 0) json["required"] = schema.required;
  if (isSchema(schema.items)) json["items"] = schemaToJson(schema.items);
  for (const keyword of ["allOf", "oneOf", "anyOf"] as const) {
    if (schema[keyword].length > 0) json[keyword] = schema[keyword].map(schemaToJson);
  }
  if (schema.not !== undefined) json["not"] = schemaToJson(schema.not);
  if (schema.properties !== undefined && schema.properties.size > 0) {
    const properties: Json = {};
    for (const [name, property] of schema.properties)
      setMember(properties, name, schemaToJson(property));
    json["properties"] = properties;
  }
  const additional = schema.additionalProperties;
  if (additional !== undefined)
    json["additionalProperties"] = isSchema(additional) ? schemaToJson(additional) : additional;
  put("nullable", schema.nullable);
  put("externalDocs", schema.externalDocs);
  if (schema.example !== undefined) json["example"] = schema.example;
  putExtensions(schema, put);
  return json;
}

const numberKeywords = [
  "maximum",
  "minimum",
  "maxLength",
  "minLength",
  "maxItems",
  "minItems",
  "multipleOf",
  "maxProperties",
  "minProperties",
] as const;

function putExtensions(
  schema: SchemaProps,
  put: (keyword: string, value: JsonValue | undefined) => void,
): void {
  put("x-kubernetes-preserve-unknown-fields", schema.preserveUnknownFields);
  put("x-kubernetes-embedded-resource", schema.embeddedResource);
  put("x-kubernetes-int-or-string", schema.intOrString);
  if (schema.listMapKeys.length > 0) put("x-kubernetes-list-map-keys", schema.listMapKeys);
  put("x-kubernetes-list-type", schema.listType);
  put("x-kubernetes-map-type", schema.mapType);
  if (schema.validations.length > 0)
    put("x-kubernetes-validations", schema.validations.map(ruleToJson));
}

function ruleToJson(rule: ValidationRule): JsonValue {
  const json: Json = { rule: rule.rule };
  for (const key of ["message", "messageExpression", "reason", "fieldPath"] as const) {
    const value = rule[key];
    if (value !== undefined && value !== "") json[key] = value;
  }
  if (rule.optionalOldSelf !== undefined) json["optionalOldSelf"] = rule.optionalOldSelf;
  return json;
}
