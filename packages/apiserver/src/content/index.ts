export {
  type BodyKind,
  bodyMembersMax,
  bodyValuesMax,
  type DecodedBody,
  decodeBodyResumable,
  decodeText,
  isProtobuf,
  isYamlType,
  mediaTypeOf,
  parseBody,
  parseTranslatedYaml,
  type RequestBody,
  yamlErrorMessage,
} from "./decode-body.ts";
export { encodeValue, type ListWriter, listWriter, type ValueChunks } from "./encode-value.ts";
export { negotiate, type ResponseFormat, wantsPretty } from "./negotiate.ts";
export { prettyPrint } from "./pretty.ts";
export {
  jsonBytes,
  jsonResponse,
  jsonType,
  sortedYaml,
  statusResponse,
  successResponse,
  textResponse,
  toStatusError,
} from "./respond.ts";
export { generatedMicrosPerByte, streamText } from "./stream-text.ts";
export {
  parseIncludeObject,
  partialMetadataOf,
  rowOf,
  tableOf,
  tableResumable,
  toBytes,
} from "./table.ts";
export { TableBudget } from "./table-budget.ts";
export { type TranslatedYaml, translateYaml } from "./translate-yaml.ts";
export { parseYamlDocuments, toYaml } from "./yaml.ts";
export { isJsonLike, isShortYaml } from "./yaml-kinds.ts";
export { sharedYamlWorker } from "./yaml-worker-client.ts";
