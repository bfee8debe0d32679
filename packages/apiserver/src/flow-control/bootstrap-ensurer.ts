/**
 * The maintenance of the bootstrap objects in storage, as in Kubernetes: the server creates missing
 * objects, corrects objects that it owns, and deletes objects that no version of this server uses
 * any more.
 *
 * An annotation says whether the server or the operator owns the spec. The server always owns the
 * mandatory objects, except the seats of the exempt level.
 */
import { isJsonObject, type JsonObject, jsonEqual } from "@kcp-ts/machinery/json";
import { quote } from "@kcp-ts/machinery/status";

export const autoUpdateAnnotation = "apf.kubernetes.io/autoupdate-spec";

const mandatory: ReadonlySet<string> = new Set(["exempt", "catch-all"]);

export interface EnsurePlan {
  readonly create: readonly JsonObject[];
  readonly update: readonly { readonly name: string; readonly model: JsonObject }[];
  readonly remove: readonly JsonObject[];
}

export function planEnsure(
  bootstrap: readonly JsonObject[],
  stored: readonly JsonObject[],
): EnsurePlan {
  const models = new Map(bootstrap.map((object) => [nameOf(object), object]));
  const present = new Set(stored.map(nameOf));
  return {
    create: bootstrap.filter((object) => !present.has(nameOf(object))),
    update: stored.flatMap((object) => {
      const name = nameOf(object);
      const model = models.get(name);
      return model === undefined || ensuredObject(model, object) === object
        ? []
        : [{ name, model }];
    }),
    remove: stored.filter((object) => !models.has(nameOf(object)) && flagOf(object) === true),
  };
}

/** The object with the corrections; the identical object when it needs none. */
export function ensuredObject(model: JsonObject, object: JsonObject): JsonObject {
  const flag = flagOf(object);
  const isOurs = mandatory.has(nameOf(object)) || (flag ?? isUnmodified(object));
  const isRight = !isOurs || isUpToDate(model, object);
  if (isRight && flag === isOurs) return object;
  const metadata = metadataOf(object);
  const annotations = {
    ...(metadata["annotations"] as JsonObject | undefined),
    [autoUpdateAnnotation]: String(isOurs),
  };
  return {
    ...object,
    metadata: { ...metadata, annotations },
    spec: (isRight ? object : model)["spec"] as JsonObject,
  };
}

/** Whether the spec is unchanged since the creation of the object. */
function isUnmodified(object: JsonObject): boolean {
  return metadataOf(object)["generation"] === 1;
}

function isUpToDate(model: JsonObject, object: JsonObject): boolean {
  const { exempt, ...spec } = model["spec"] as JsonObject;
  const { exempt: present, ...rest } = object["spec"] as JsonObject;
  return jsonEqual(spec, rest) && (exempt === undefined) === (present === undefined);
}

/** The annotation as Go parses booleans; undefined when it is not a boolean. */
function flagOf(object: JsonObject): boolean | undefined {
  const { annotations } = metadataOf(object);
  const text =
    annotations !== undefined && isJsonObject(annotations)
      ? annotations[autoUpdateAnnotation]
      : undefined;
  if (typeof text !== "string") return undefined;
  if (/^(?:1|t|T|true|TRUE|True)$/.test(text)) return true;
  return /^(?:0|f|F|false|FALSE|False)$/.test(text) ? false : undefined;
}

/**
 * The condition that a schema should have, without its time; undefined when the schema already has
 * it.
 */
export function danglingCondition(
  schema: JsonObject,
  hasLevel: (name: string) => boolean,
): JsonObject | undefined {
  const { priorityLevelConfiguration: reference } = schema["spec"] as JsonObject;
  const level = String((reference as JsonObject)["name"]);
  const isFound = hasLevel(level);
  const wanted: JsonObject = {
    type: "Dangling",
    status: isFound ? "False" : "True",
    reason: isFound ? "Found" : "NotFound",
    message: `This FlowSchema references the PriorityLevelConfiguration object named ${quote(level)} ${isFound ? "and it exists" : "but there is no such object"}`,
  };
  const { lastTransitionTime: _, ...present } = conditionsOf(schema).find(isDangling) ?? {};
  return jsonEqual(present, wanted) ? undefined : wanted;
}

/** The status with that condition in place of the previous one. */
export function withCondition(schema: JsonObject, condition: JsonObject): JsonObject {
  const others = conditionsOf(schema).filter((one) => !isDangling(one));
  return { ...(schema["status"] as JsonObject | undefined), conditions: [...others, condition] };
}

function conditionsOf({ status }: JsonObject): readonly JsonObject[] {
  const { conditions = [] } = (status ?? {}) as { conditions?: readonly JsonObject[] };
  return conditions;
}

function isDangling({ type }: JsonObject): boolean {
  return type === "Dangling";
}

function metadataOf(object: JsonObject): JsonObject {
  return object["metadata"] as JsonObject;
}

function nameOf(object: JsonObject): string {
  return String(metadataOf(object)["name"]);
}
