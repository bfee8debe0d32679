export { type Manifest, ManifestError, parseManifests, readManifests } from "./read-manifests.ts";
