export { type Manifest, ManifestError, parseManifests, readManifests } from "./read-manifests.ts";
export { toYaml } from "./to-yaml.ts";
