/** The preconditions of an update: the uid and the resourceVersion that the client knows. */
import { isJsonObject, type JsonObject } from "@kcp-ts/machinery/json";
import { statusError } from "@kcp-ts/machinery/status";
import type { Entry } from "../storage/index.ts";
import type { UpdateRules } from "./prepare.ts";
import type { ResourceDefinition } from "./resource-definition.ts";
import type { Draft } from "./strategy.ts";

/** Throws when the stored object has another uid or resourceVersion than the client requires. */
export function checkPreconditions(
  definition: ResourceDefinition,
  name: string,
  draft: Draft,
  entry: Entry,
  old: JsonObject,
  { isDerivedFromLive }: UpdateRules,
): void {
  const metadata = isJsonObject(draft["metadata"]) ? draft["metadata"] : {};
  const oldMetadata = old["metadata"] as JsonObject;
  const uid = metadata["uid"];
  if (
    isDerivedFromLive !== true &&
    typeof uid === "string" &&
    uid !== "" &&
    uid !== oldMetadata["uid"]
  ) {
    throw statusError.conflict(
      definition,
      name,
      `StorageError: invalid object, Code: 4, Key: ${entry.key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: ${uid}, UID in object meta: ${String(oldMetadata["uid"])}`,
    );
  }
  const version = metadata["resourceVersion"];
  if (typeof version !== "string" || version === "" || version === "0") return;
  if (version !== String(entry.modifiedAt)) throw statusError.modified(definition, name);
}
