/** Help with YAML: what may be written at a place, and what it means. Loaded with the editor. */
export { YamlField } from "./yaml-field.tsx";
