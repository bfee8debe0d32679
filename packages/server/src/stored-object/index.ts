export {
  decodeObject,
  encodeObject,
  itemBytesMax,
  labelsOf,
  partialBytesAt,
  servedBytes,
  servedBytesAt,
  writeListItem,
} from "./layout.ts";
