/** What a PATCH body may be; also said in OpenAPI, where kubectl looks before it chooses. */
export const patchMediaTypes = [
  "application/json-patch+json",
  "application/merge-patch+json",
  "application/strategic-merge-patch+json",
] as const;
