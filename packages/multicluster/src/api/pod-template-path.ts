/** The path of the Pod template in each kind. */

/** Paths by kind; the path of all other kinds is `spec.template`. */
const paths: Readonly<Record<string, readonly string[]>> = {
  CronJob: ["spec", "jobTemplate", "spec", "template"],
  ClusterDaemonSet: ["spec", "template", "spec", "template"],
  Pod: [],
};
const usual: readonly string[] = ["spec", "template"];

/** The path from the object to the Pod template, which has metadata and spec. */
export function podTemplatePath(kind: string): readonly string[] {
  return (Object.hasOwn(paths, kind) ? paths[kind] : undefined) ?? usual;
}
