/**
 * The entry point `@kcp-ts/apiserver/kinds`: what built-in kinds are defined with, for packages
 * that define kinds of their own.
 */
export { workloadPrinter } from "./custom-resources/index.ts";
export {
  baseStrategy,
  builtIn,
  type ComputedListRequest,
  type ComputedResource,
  type ConnectRequest,
  conversionCodec,
  type Draft,
  itemErrors,
  labelSelectorErrors,
  listIn,
  mutableItems,
  mutableMember,
  mutableMemberIfPresent,
  nameCell,
  nameColumn,
  nodeMetricsKind,
  objectIn,
  podMetricsKind,
  type ResourceDefinition,
  restoreMembers,
  type Strategy,
  type SubresourceKind,
  type SubresourceStrategy,
  type SubresourceView,
  setDefault,
  setPodDefaults,
  setPodSpecDefaults,
  startGeneration,
  textIn,
} from "./registry/index.ts";
