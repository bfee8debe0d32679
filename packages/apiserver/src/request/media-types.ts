/** Server-side apply: the body is a configuration in YAML, of which JSON is a part. */
export const applyPatchType = "application/apply-patch+yaml";

/** What a PATCH body may be; also said in OpenAPI, where kubectl looks before it chooses. */
export const patchMediaTypes = [
  "application/json-patch+json",
  "application/merge-patch+json",
  "application/strategic-merge-patch+json",
  applyPatchType,
] as const;
