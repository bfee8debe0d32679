/**
 * The request to add ephemeral containers to a Pod (`kubectl debug`), as it is sent to the Pod's
 * cluster. Only the containers of the client's patch are sent; the uid identifies the Pod to patch.
 */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import { statusError } from "@kcp-ts/machinery/status";
import { type PodReference, readPodReference } from "./pod-request.ts";

export interface EphemeralRequest extends PodReference {
  /** Fields of `.spec` in a strategic merge patch. */
  readonly ephemeral: JsonObject;
  readonly isDryRun: boolean;
}

export const strategicMergePatch = "application/strategic-merge-patch+json";
/** Far more than a few containers need, and no more than fits into a frame of a tunnel. */
export const ephemeralBytesMax = 128 << 10;
const members = ["ephemeralContainers", "$setElementOrder/ephemeralContainers"] as const;

/**
 * The fields of a patch that concern ephemeral containers. Throws a StatusError when there are
 * none.
 */
export function ephemeralOf(patch: JsonValue): JsonObject {
  const { spec = null } = isJsonObject(patch) ? (patch as { spec?: JsonValue }) : {};
  const picked = isJsonObject(spec) ? pickedOf(spec) : {};
  if (!Array.isArray(picked["ephemeralContainers"]))
    throw statusError.badRequest(
      "a patch of pods/ephemeralcontainers has a list spec.ephemeralContainers",
    );
  return picked;
}

/** Parses a serialized request; undefined when it is invalid. */
export function readEphemeralRequest(value: JsonValue): EphemeralRequest | undefined {
  if (!isJsonObject(value)) return undefined;
  const { ephemeral, isDryRun } = value as Record<string, JsonValue | undefined>;
  if (ephemeral === undefined || !isJsonObject(ephemeral)) return undefined;
  if (!Array.isArray(ephemeral["ephemeralContainers"])) return undefined;
  const of = readPodReference(value);
  if (of === undefined || typeof isDryRun !== "boolean") return undefined;
  return { ephemeral: pickedOf(ephemeral), isDryRun, ...of };
}

function pickedOf(spec: JsonObject): JsonObject {
  const picked: Record<string, JsonValue> = {};
  for (const member of members) {
    const value = spec[member];
    if (value !== undefined) picked[member] = value;
  }
  return picked;
}
