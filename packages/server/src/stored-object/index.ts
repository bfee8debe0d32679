export {
  decodeObject,
  encodeObject,
  itemBytesMax,
  labelsOf,
  servedBytes,
  servedBytesAt,
  writeListItem,
} from "./layout.ts";
