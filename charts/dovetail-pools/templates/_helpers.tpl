{{/* What every object's metadata has: a dict of `root` and `name`. */}}
{{- define "pools.metadata" -}}
name: {{ printf "%s%s" .root.Values.namePrefix .name | quote }}
labels:
  {{- with .root.Values.additionalLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
  helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" | quote }}
  app.kubernetes.io/name: {{ .root.Chart.Name | quote }}
  app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
  app.kubernetes.io/managed-by: {{ .root.Release.Service | quote }}
{{- with .root.Values.additionalAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Limits as quantities: whole numbers stay whole. */}}
{{- define "pools.limits" -}}
{{- range $name, $limit := . }}
{{- if not (kindIs "float64" $limit) }}
{{ $name | quote }}: {{ $limit | toString | quote }}
{{- else if eq (float64 (int64 $limit)) $limit }}
{{ $name | quote }}: {{ int64 $limit | toString | quote }}
{{- else }}
{{ $name | quote }}: {{ regexReplaceAll "0+$" (printf "%.9f" $limit) "" | quote }}
{{- end }}
{{- end }}
{{- end -}}
