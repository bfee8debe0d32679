export {
  decodeObject,
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
