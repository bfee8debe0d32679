export {
  type BodyKind,
  bodyMembersMax,
  bodyValuesMax,
  type DecodedBody,
  decodeInPieces,
  decodeText,
  isProtobuf,
  mediaTypeOf,
  parseBody,
  parseTranslated,
  type SentBody,
  yamlProblemOf,
} from "./decode-body.ts";
export { type AnswerForm, acceptedMediaTypes, negotiate, type Offers } from "./negotiate.ts";
export { pretty, wantsPretty } from "./pretty.ts";
export { failure, json, jsonBytes, jsonType, success, text, toStatusError } from "./respond.ts";
export {
  type IncludeObject,
  parseIncludeObject,
  partialOf,
  rowOf,
  type TableForm,
  tableOf,
  toBytes,
} from "./table.ts";
export { type TranslatedYaml, translateYaml } from "./translate-yaml.ts";
export { parseYamlDocuments, toYaml } from "./yaml.ts";
export {
  isJsonLike,
  isShortYaml,
  isYamlType,
  YamlRequest,
} from "./yaml-request.ts";
