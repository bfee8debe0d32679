export { CheckedStorage, type CorruptEntry } from "./checked-storage.ts";
export { clusterAnnotation, encodeObject, encodeObjectResumable } from "./encode.ts";
export { isIntact } from "./envelope.ts";
export {
  annotatedMetadata,
  decodeMetadata,
  decodeObject,
  decodeObjectResumable,
  hasFinalizers,
  hasOwnershipMetadata,
  hasTypeMetaPrefix,
  isBeingDeleted,
  isEstablished,
  itemBytesMax,
  labelsMayContain,
  labelsOf,
  mayBeEqual,
  mayContain,
  partialBytesAt,
  servedBytes,
  storedVersionOf,
  typeMetaPrefix,
  writeListItem,
} from "./layout.ts";
