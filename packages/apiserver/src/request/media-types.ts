/** Server-side apply: the body is an apply configuration in YAML, of which JSON is a subset. */
export const applyPatchType = "application/apply-patch+yaml";

/** The media types of a PATCH body; also in OpenAPI, which kubectl reads before it chooses. */
export const patchMediaTypes = [
  "application/json-patch+json",
  "application/merge-patch+json",
  "application/strategic-merge-patch+json",
  applyPatchType,
] as const;
