package template

import (
	"github.com/go-playground/locales"
	"github.com/go-playground/locales/af"
	"github.com/go-playground/locales/am"
	"github.com/go-playground/locales/ar"
	"github.com/go-playground/locales/az"
	"github.com/go-playground/locales/be"
	"github.com/go-playground/locales/bg"
	"github.com/go-playground/locales/bn"
	"github.com/go-playground/locales/bs"
	"github.com/go-playground/locales/ca"
	"github.com/go-playground/locales/cs"
	"github.com/go-playground/locales/cy"
	"github.com/go-playground/locales/da"
	"github.com/go-playground/locales/de"
	"github.com/go-playground/locales/de_AT"
	"github.com/go-playground/locales/de_CH"
	"github.com/go-playground/locales/el"
	"github.com/go-playground/locales/en"
	"github.com/go-playground/locales/en_AU"
	"github.com/go-playground/locales/en_CA"
	"github.com/go-playground/locales/en_GB"
	"github.com/go-playground/locales/en_IE"
	"github.com/go-playground/locales/en_IN"
	"github.com/go-playground/locales/en_NZ"
	"github.com/go-playground/locales/en_ZA"
	"github.com/go-playground/locales/es"
	"github.com/go-playground/locales/es_419"
	"github.com/go-playground/locales/es_AR"
	"github.com/go-playground/locales/es_CL"
	"github.com/go-playground/locales/es_CO"
	"github.com/go-playground/locales/es_MX"
	"github.com/go-playground/locales/es_US"
	"github.com/go-playground/locales/et"
	"github.com/go-playground/locales/eu"
	"github.com/go-playground/locales/fa"
	"github.com/go-playground/locales/fi"
	"github.com/go-playground/locales/fil"
	"github.com/go-playground/locales/fr"
	"github.com/go-playground/locales/fr_BE"
	"github.com/go-playground/locales/fr_CA"
	"github.com/go-playground/locales/fr_CH"
	"github.com/go-playground/locales/ga"
	"github.com/go-playground/locales/gl"
	"github.com/go-playground/locales/gu"
	"github.com/go-playground/locales/he"
	"github.com/go-playground/locales/hi"
	"github.com/go-playground/locales/hr"
	"github.com/go-playground/locales/hu"
	"github.com/go-playground/locales/hy"
	"github.com/go-playground/locales/id"
	"github.com/go-playground/locales/is"
	"github.com/go-playground/locales/it"
	"github.com/go-playground/locales/it_CH"
	"github.com/go-playground/locales/ja"
	"github.com/go-playground/locales/ka"
	"github.com/go-playground/locales/kk"
	"github.com/go-playground/locales/km"
	"github.com/go-playground/locales/kn"
	"github.com/go-playground/locales/ko"
	"github.com/go-playground/locales/ky"
	"github.com/go-playground/locales/lo"
	"github.com/go-playground/locales/lt"
	"github.com/go-playground/locales/lv"
	"github.com/go-playground/locales/mk"
	"github.com/go-playground/locales/ml"
	"github.com/go-playground/locales/mn"
	"github.com/go-playground/locales/mr"
	"github.com/go-playground/locales/ms"
	"github.com/go-playground/locales/my"
	"github.com/go-playground/locales/nb"
	"github.com/go-playground/locales/ne"
	"github.com/go-playground/locales/nl"
	"github.com/go-playground/locales/nl_BE"
	"github.com/go-playground/locales/nn"
	"github.com/go-playground/locales/pa"
	"github.com/go-playground/locales/pl"
	"github.com/go-playground/locales/pt"
	"github.com/go-playground/locales/pt_PT"
	"github.com/go-playground/locales/ro"
	"github.com/go-playground/locales/ru"
	"github.com/go-playground/locales/si"
	"github.com/go-playground/locales/sk"
	"github.com/go-playground/locales/sl"
	"github.com/go-playground/locales/sq"
	"github.com/go-playground/locales/sr"
	"github.com/go-playground/locales/sr_Latn"
	"github.com/go-playground/locales/sv"
	"github.com/go-playground/locales/sw"
	"github.com/go-playground/locales/ta"
	"github.com/go-playground/locales/te"
	"github.com/go-playground/locales/th"
	"github.com/go-playground/locales/tr"
	"github.com/go-playground/locales/uk"
	"github.com/go-playground/locales/ur"
	"github.com/go-playground/locales/uz"
	"github.com/go-playground/locales/vi"
	"github.com/go-playground/locales/zh"
	"github.com/go-playground/locales/zh_Hant"
	"github.com/go-playground/locales/zh_Hant_HK"
	"github.com/go-playground/locales/zu"
)

// translators are the locales that helpers know, by their tags. A region that is
// not among them has the locale of its language.
var translators = map[string]func() locales.Translator{
	"af":         af.New,
	"am":         am.New,
	"ar":         ar.New,
	"az":         az.New,
	"be":         be.New,
	"bg":         bg.New,
	"bn":         bn.New,
	"bs":         bs.New,
	"ca":         ca.New,
	"cs":         cs.New,
	"cy":         cy.New,
	"da":         da.New,
	"de":         de.New,
	"de-AT":      de_AT.New,
	"de-CH":      de_CH.New,
	"el":         el.New,
	"en":         en.New,
	"en-AU":      en_AU.New,
	"en-CA":      en_CA.New,
	"en-GB":      en_GB.New,
	"en-IE":      en_IE.New,
	"en-IN":      en_IN.New,
	"en-NZ":      en_NZ.New,
	"en-ZA":      en_ZA.New,
	"es":         es.New,
	"es-419":     es_419.New,
	"es-AR":      es_AR.New,
	"es-CL":      es_CL.New,
	"es-CO":      es_CO.New,
	"es-MX":      es_MX.New,
	"es-US":      es_US.New,
	"et":         et.New,
	"eu":         eu.New,
	"fa":         fa.New,
	"fi":         fi.New,
	"fil":        fil.New,
	"fr":         fr.New,
	"fr-BE":      fr_BE.New,
	"fr-CA":      fr_CA.New,
	"fr-CH":      fr_CH.New,
	"ga":         ga.New,
	"gl":         gl.New,
	"gu":         gu.New,
	"he":         he.New,
	"hi":         hi.New,
	"hr":         hr.New,
	"hu":         hu.New,
	"hy":         hy.New,
	"id":         id.New,
	"is":         is.New,
	"it":         it.New,
	"it-CH":      it_CH.New,
	"ja":         ja.New,
	"ka":         ka.New,
	"kk":         kk.New,
	"km":         km.New,
	"kn":         kn.New,
	"ko":         ko.New,
	"ky":         ky.New,
	"lo":         lo.New,
	"lt":         lt.New,
	"lv":         lv.New,
	"mk":         mk.New,
	"ml":         ml.New,
	"mn":         mn.New,
	"mr":         mr.New,
	"ms":         ms.New,
	"my":         my.New,
	"nb":         nb.New,
	"ne":         ne.New,
	"nl":         nl.New,
	"nl-BE":      nl_BE.New,
	"nn":         nn.New,
	"pa":         pa.New,
	"pl":         pl.New,
	"pt":         pt.New,
	"pt-PT":      pt_PT.New,
	"ro":         ro.New,
	"ru":         ru.New,
	"si":         si.New,
	"sk":         sk.New,
	"sl":         sl.New,
	"sq":         sq.New,
	"sr":         sr.New,
	"sr-Latn":    sr_Latn.New,
	"sv":         sv.New,
	"sw":         sw.New,
	"ta":         ta.New,
	"te":         te.New,
	"th":         th.New,
	"tr":         tr.New,
	"uk":         uk.New,
	"ur":         ur.New,
	"uz":         uz.New,
	"vi":         vi.New,
	"zh":         zh.New,
	"zh-Hant":    zh_Hant.New,
	"zh-Hant-HK": zh_Hant_HK.New,
	"zu":         zu.New,
}
