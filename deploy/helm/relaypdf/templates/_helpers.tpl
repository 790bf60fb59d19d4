{{/* The Secret with the secret settings. */}}
{{- define "relaypdf.secret" -}}
{{ .Values.secret | default .Release.Name }}
{{- end }}

{{/* The labels of everything, with the component of a cluster. */}}
{{- define "relaypdf.labels" -}}
{{ include "relaypdf.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "relaypdf.selector" -}}
app.kubernetes.io/name: relaypdf
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- with .component }}
app.kubernetes.io/component: {{ . }}
{{- end }}
{{- end }}

{{- define "relaypdf.settings" -}}
{{- $settings := dict
  "RELAYPDF_BASE_URL" .Values.baseURL
  "RELAYPDF_TRUSTED_IP_HEADER" "X-Forwarded-For"
  "RELAYPDF_METRICS_LISTEN" "0.0.0.0:8788"
  "RELAYPDF_SANDBOX" (ternary "full" "reduced" (ne .Values.seccompProfile ""))
  "RELAYPDF_DRAIN_DELAY" "10s"
  "RELAYPDF_SHUTDOWN_TIMEOUT" (ternary "300s" "30s" .Values.cluster)
  "RELAYPDF_RENDER_SLOTS" "2"
  "RELAYPDF_WORKERS" "4" }}
{{- with .Values.blobs }}
{{- $_ := set $settings "RELAYPDF_BLOBS" . }}
{{- end }}
{{- mergeOverwrite $settings .Values.settings | toYaml }}
{{- end }}
