export { CheckedStorage, type Damage } from "./checked-storage.ts";
export { clusterAnnotation, encodeInPieces, encodeObject } from "./encode.ts";
export { isWhole } from "./envelope.ts";
export {
  annotatedMetadata,
  decodeObject,
  decodeObjectInPieces,
  hasFinalizers,
  hasHead,
  hasMetadataOfOwnership,
  headOf,
  isBeingDeleted,
  isEstablished,
  itemBytesMax,
  labelsMention,
  labelsOf,
  mayHoldSame,
  mentions,
  partialBytesAt,
  servedBytes,
  servedBytesAt,
  storedVersionOf,
  writeListItem,
} from "./layout.ts";
