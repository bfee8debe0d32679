export {
  type ClusterName,
  type ClusterPath,
  isUserWord,
  parseClusterName,
  parseClusterReference,
  pathCharactersMax,
  pathWordsMax,
  rootCluster,
} from "./cluster-name.ts";
export { generateName } from "./generate-name.ts";
export { labelValueErrors, qualifiedNameErrors } from "./label-errors.ts";
export {
  configMapKeyErrors,
  dns1035LabelErrors,
  dnsLabelErrors,
  dnsSubdomainErrors,
  type NameErrors,
  pathSegmentErrors,
  wildcardDomainErrors,
} from "./name-errors.ts";
export { utf8Length } from "./utf8-length.ts";
