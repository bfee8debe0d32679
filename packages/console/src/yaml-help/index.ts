/**
 * YAML for people: shown, compared, and written with help on what may be at a place, and what it
 * means. Loaded with the pages that have an editor.
 */
export { DiffView } from "./diff-view.tsx";
export { formatYaml } from "./format-yaml.ts";
export { YamlField } from "./yaml-field.tsx";
