export {
  applyJsonPatch,
  applyJsonPatchResumable,
  JsonPatchBudget,
  jsonPatchCopiedBytesMax,
  jsonPatchShiftedItemsMax,
} from "./json-patch.ts";
export {
  type JsonPatchOperation,
  jsonPatchOperationsMax,
  readJsonPatch,
} from "./json-patch-operation.ts";
export { formatPointer } from "./json-pointer.ts";
export { applyMergePatch } from "./merge-patch.ts";
export { isPatchError, PatchError, patchStatusError } from "./patch-error.ts";
export {
  objectPatchSchema,
  type PatchField,
  type PatchSchema,
  patchSchema,
  readPatchSchema,
} from "./patch-schema.ts";
export { applyStrategicMergePatch } from "./strategic-merge-patch.ts";
