export {
  type BodyKind,
  bodyMembersMax,
  bodyValuesMax,
  type DecodedBody,
  decodeBody,
  decodeInPieces,
  decodeText,
  isProtobuf,
  mediaTypeOf,
  parseBody,
  yamlBytesMax,
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
export { parseYaml, parseYamlDocuments, toYaml } from "./yaml.ts";
