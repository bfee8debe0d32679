export {
  decodeObject,
  decodeObjectInPieces,
  encodeInPieces,
  encodeObject,
  hasMetadataOfOwnership,
  itemBytesMax,
  labelsOf,
  mentions,
  partialBytesAt,
  servedBytes,
  servedBytesAt,
  writeListItem,
} from "./layout.ts";
