/** Own kinds from TypeScript: the type, the schema and the definition in one declaration. */
export {
  ageColumn,
  anyObject,
  anyValue,
  atomic,
  bool,
  column,
  conditionColumn,
  int32,
  intOrString,
  keyedBy,
  list,
  map,
  object,
  rules,
  type Schema,
  string,
  type TypeOf,
  time,
} from "@kcp-ts/machinery/schema";
export { conditions } from "./conditions.ts";
export {
  defineKind,
  type Kind,
  type KindDefinition,
  type KindObject,
  type KindOptions,
  type ObjectOfKind,
} from "./define-kind.ts";
export {
  type ExportedKinds,
  type ExportKindsOptions,
  exportKinds,
} from "./export-kinds.ts";
