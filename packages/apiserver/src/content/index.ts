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
export {
  type AnswerForm,
  acceptedMediaTypes,
  negotiate,
  type Offers,
  wantsPretty,
} from "./negotiate.ts";
export { type AnswerTexts, paced, pacedMicrosPerByte } from "./paced.ts";
export { pretty } from "./pretty.ts";
export { failure, json, jsonBytes, jsonType, success, text, toStatusError } from "./respond.ts";
export {
  type IncludeObject,
  parseIncludeObject,
  partialOf,
  rowOf,
  type TableForm,
  tableInPieces,
  tableOf,
  toBytes,
} from "./table.ts";
export { TableBudget } from "./table-budget.ts";
export { type TranslatedYaml, translateYaml } from "./translate-yaml.ts";
export { type ListWriter, listWriter, type Texts, valueTexts } from "./write-value.ts";
export { parseYamlDocuments, toYaml } from "./yaml.ts";
export { isJsonLike, isShortYaml, isYamlType } from "./yaml-kinds.ts";
export { yamlThread } from "./yaml-thread.ts";
