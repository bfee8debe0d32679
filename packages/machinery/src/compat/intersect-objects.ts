/**
 * Objects: their members, the required ones, and the schemas of members.
 *
 * A field that one side does not declare is pruned there, which loses the user's value; so it is
 * not part of the common schema.
 */
import type { Resumable } from "../base/index.ts";
import { additionalSchema, emptySchema, type SchemaProps } from "../schema/index.ts";
import type { Findings } from "./findings.ts";
import { intersectCounts } from "./intersect-scalars.ts";
import type { Intersection, MutableSchemaProps } from "./intersection.ts";

export function* intersectObjects(
  draft: MutableSchemaProps,
  existing: SchemaProps,
  next: SchemaProps,
  path: string,
  intersection: Intersection,
): Resumable<void> {
  if (draft.type !== "object") return;
  const { findings } = intersection;
  intersectCounts(draft, next, "minProperties", "maxProperties", path, findings);
  if ((draft.mapType ?? "granular") !== (next.mapType ?? "granular"))
    findings.incompatible(path, "x-kubernetes-map-type changed");
  if (next.embeddedResource && !draft.embeddedResource) {
    draft.embeddedResource = true;
    findings.narrower(path, "must be a whole resource now");
  }
  for (const side of [existing, next]) {
    if (side.maxProperties !== undefined && hasDefaults(side))
      findings.unknown(path, "defaults may add more fields than maxProperties allows");
  }
  yield* meetMembers(draft, existing, next, path, intersection);
  meetRequired(draft, existing, next, path, findings);
}

/** The schema for a name that is not declared. */
type Others = SchemaProps | "anything" | "nothing";

function othersOf(schema: SchemaProps): Others {
  const additional = additionalSchema(schema);
  if (additional !== undefined) return additional;
  if (schema.additionalProperties === true || schema.preserveUnknownFields === true)
    return "anything";
  return "nothing";
}

const anything: SchemaProps = { ...emptySchema(), preserveUnknownFields: true, nullable: true };

function* meetMembers(
  draft: MutableSchemaProps,
  existing: SchemaProps,
  next: SchemaProps,
  path: string,
  intersection: Intersection,
): Resumable<void> {
  const { findings } = intersection;
  const [was, is] = [othersOf(existing), othersOf(next)];
  const properties = new Map<string, SchemaProps>();
  for (const [name, property] of existing.properties ?? []) {
    const other = next.properties?.get(name) ?? is;
    if (other === "nothing")
      findings.narrower(`${path}.${name}`, "the field is not known any more");
    else
      properties.set(
        name,
        other === "anything"
          ? property
          : yield* intersection.intersect(property, other, `${path}.${name}`),
      );
  }
  if (was !== "nothing") {
    for (const [name, property] of next.properties ?? []) {
      if (existing.properties?.has(name)) continue;
      const allowed = was === "anything" ? anything : was;
      properties.set(name, yield* intersection.intersect(allowed, property, `${path}.${name}`));
    }
  }
  yield* meetOthers(draft, was, is, path, intersection);
  const isEmptied = properties.size === 0 && (existing.properties?.size ?? 0) > 0;
  if (isEmptied && is === "nothing") findings.incompatible(path, "no field is known on both sides");
  const isListed = existing.properties !== undefined || properties.size > 0;
  draft.properties = isListed ? properties : undefined;
  // Structural schemas either list members or describe all of them, not both.
  if (properties.size > 0 && typeof draft.additionalProperties === "object")
    findings.unknown(path, "fields are listed on one side, and described as a whole on the other");
}

function* meetOthers(
  draft: MutableSchemaProps,
  was: Others,
  is: Others,
  path: string,
  intersection: Intersection,
): Resumable<void> {
  const { findings } = intersection;
  if (was === "nothing" || is === "anything") return;
  const close = () => {
    draft.additionalProperties = undefined;
    draft.preserveUnknownFields = undefined;
  };
  if (is === "nothing") {
    close();
    findings.narrower(path, "fields that are not listed are dropped now");
  } else if (was === "anything") {
    close();
    draft.additionalProperties = is;
    findings.narrower(path, "all fields must be of one form now");
  } else draft.additionalProperties = yield* intersection.intersect(was, is, `${path}{}`);
}

function meetRequired(
  draft: MutableSchemaProps,
  existing: SchemaProps,
  next: SchemaProps,
  path: string,
  findings: Findings,
): void {
  const isThere = (name: string) =>
    draft.properties?.has(name) === true || othersOf(draft) !== "nothing";
  for (const name of existing.required) {
    if (isThere(name) || hasDefault(existing, name)) continue;
    findings.incompatible(
      `${path}.${name}`,
      "the field is required, and not known on the other side",
    );
  }
  const required = new Set(existing.required.filter(isThere));
  for (const name of next.required) {
    // A server applies its defaults before it checks required members.
    if (required.has(name) || hasDefault(next, name)) continue;
    if (isThere(name)) {
      required.add(name);
      findings.narrower(`${path}.${name}`, "the field is required now");
    } else
      findings.incompatible(
        `${path}.${name}`,
        "the field is required now, and was not known before",
      );
  }
  draft.required = [...required];
}

function hasDefaults({ properties }: SchemaProps): boolean {
  return [...(properties?.values() ?? [])].some((each) => each.default !== undefined);
}

function hasDefault(schema: SchemaProps, name: string): boolean {
  return schema.properties?.get(name)?.default !== undefined;
}
