/**
 * Embedded resources (`x-kubernetes-embedded-resource`) must have an apiVersion, a kind and a valid
 * ObjectMeta.
 *
 * They are found by a separate walk, which Kubernetes does not ratchet either. Name rules are those
 * of path segments: the kind of the embedded object is unknown here.
 */
import { isJsonObject, type JsonObject, type JsonValue } from "../json/index.ts";
import { type FieldError, fieldError } from "../status/index.ts";
import { coerceObjectMeta } from "./coerce-meta.ts";
import { dns1035LabelErrors } from "./dns-names.ts";
import { errorsMax } from "./limits.ts";
import { validateObjectMeta } from "./object-meta-rules.ts";
import { reachBit, type SchemaNode } from "./schema-node.ts";
import { fieldPath, type PathSegment } from "./value-path.ts";

export function validateEmbeddedResources(
  node: SchemaNode,
  value: JsonValue,
  options: { readonly isResourceRoot: boolean } = { isResourceRoot: false },
): FieldError[] {
  const walk = new EmbeddedWalk();
  if (options.isResourceRoot && isJsonObject(value)) walk.resource(value);
  walk.value(node, value);
  return walk.errors.slice(0, errorsMax);
}

class EmbeddedWalk {
  readonly errors: FieldError[] = [];
  readonly #path: PathSegment[] = [];

  value(node: SchemaNode, value: JsonValue): void {
    if ((node.reach & reachBit.embedded) === 0 || this.errors.length >= errorsMax) return;
    if (Array.isArray(value)) {
      if (node.items === undefined) return;
      for (let i = 0; i < value.length; i++) this.#child(i, node.items, value[i] as JsonValue);
    } else if (isJsonObject(value)) {
      if (node.embedded) this.resource(value);
      for (const key of Object.keys(value)) {
        const property = node.properties?.get(key);
        if (property !== undefined) this.#child(key, property, value[key] as JsonValue);
        else if (typeof node.additional === "object")
          this.#child([key], node.additional, value[key] as JsonValue);
      }
    }
  }

  resource(value: JsonObject): void {
    this.#named(value, "apiVersion", (text) =>
      text.split("/").length > 2 ? `unexpected GroupVersion string: ${text}` : undefined,
    );
    this.#named(value, "kind", (text) => {
      const complaints = dns1035LabelErrors(text.toLowerCase());
      return complaints.length === 0
        ? undefined
        : `may have mixed case, but should otherwise match: ${complaints.join(",")}`;
    });
    if (Object.hasOwn(value, "metadata")) this.#metadata(value["metadata"] as JsonValue);
  }

  #named(
    value: JsonObject,
    key: "apiVersion" | "kind",
    judge: (text: string) => string | undefined,
  ): void {
    const field = this.#field(key);
    const text = value[key];
    if (!Object.hasOwn(value, key)) this.errors.push(fieldError.required(field));
    else if (typeof text !== "string")
      this.errors.push(fieldError.invalid(field, text ?? null, "must be a string"));
    else if (text === "") this.errors.push(fieldError.invalid(field, text, "must not be empty"));
    else {
      const complaint = judge(text);
      if (complaint !== undefined) this.errors.push(fieldError.invalid(field, text, complaint));
    }
  }

  #metadata(metadata: JsonValue): void {
    const coerced = coerceObjectMeta(metadata, { malformed: "reject" });
    const field = this.#field("metadata");
    if (coerced.error !== undefined || !isJsonObject(coerced.value)) {
      this.errors.push(fieldError.invalid(field, metadata, coerced.error ?? "must be an object"));
    } else {
      this.errors.push(...validateObjectMeta(coerced.value, field));
    }
  }

  #child(segment: PathSegment, node: SchemaNode, value: JsonValue): void {
    this.#path.push(segment);
    this.value(node, value);
    this.#path.pop();
  }

  #field(key: string): string {
    this.#path.push(key);
    const field = fieldPath(this.#path);
    this.#path.pop();
    return field;
  }
}
