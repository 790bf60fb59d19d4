package einvoice

// Invoice holds the business terms of an invoice or credit note by EN 16931. The description of each field has the
// number of its term (BT) or group of terms (BG). All amounts are in Currency, unless their description states another.
// Fields that other fields share an element with come after those.
type Invoice struct {
	Number                   string             `json:"number,omitempty" cii:"rsm:ExchangedDocument/ID" ubl:"ID" jsonschema_description:"Number of the invoice, unique among those of the seller (BT-1)."`
	IssueDate                Date               `json:"issueDate,omitempty" cii:"rsm:ExchangedDocument/IssueDateTime" ubl:"IssueDate" jsonschema_description:"Date of issue, YYYY-MM-DD (BT-2)."`
	TypeCode                 string             `json:"typeCode,omitempty" cii:"rsm:ExchangedDocument/TypeCode" ubl:"InvoiceTypeCode" jsonschema_description:"Type of the document by UNTDID 1001: 380 invoice, 381 credit note, 384 corrected invoice, 389 self-billed invoice (BT-3)."`
	Currency                 string             `json:"currency,omitempty" cii:"S/InvoiceCurrencyCode" ubl:"DocumentCurrencyCode" jsonschema_description:"Currency of all amounts by ISO 4217, such as EUR (BT-5)."`
	TaxCurrency              string             `json:"taxCurrency,omitempty" cii:"S/TaxCurrencyCode" ubl:"TaxCurrencyCode" jsonschema_description:"Currency in which VAT is accounted, if it is another one (BT-6)."`
	BusinessProcess          string             `json:"businessProcess,omitempty" cii:"rsm:ExchangedDocumentContext/BusinessProcessSpecifiedDocumentContextParameter/ID" ubl:"ProfileID" jsonschema_description:"Business process of the transaction, as the buyer names it (BT-23)."`
	Specification            string             `json:"specification,omitempty" cii:"rsm:ExchangedDocumentContext/GuidelineSpecifiedDocumentContextParameter/ID" ubl:"CustomizationID" jsonschema_description:"Specification identifier of the rules that the document follows (BT-24). Default: that of the profile."`
	BuyerReference           string             `json:"buyerReference,omitempty" cii:"A/BuyerReference" ubl:"BuyerReference" jsonschema_description:"Reference that the buyer assigned for routing; in Germany the Leitweg-ID (BT-10)."`
	ProjectReference         string             `json:"projectReference,omitempty" cii:"A/SpecifiedProcuringProject[Name:=Project reference]/ID" ubl:"ProjectReference/ID" jsonschema_description:"Project of the invoice (BT-11)."`
	ContractReference        string             `json:"contractReference,omitempty" cii:"A/ContractReferencedDocument/IssuerAssignedID" ubl:"ContractDocumentReference/ID" jsonschema_description:"Number of the contract (BT-12)."`
	OrderReference           string             `json:"orderReference,omitempty" cii:"A/BuyerOrderReferencedDocument/IssuerAssignedID" ubl:"OrderReference/ID" jsonschema_description:"Number of the purchase order, issued by the buyer (BT-13)."`
	SalesOrderReference      string             `json:"salesOrderReference,omitempty" cii:"A/SellerOrderReferencedDocument/IssuerAssignedID" ubl:"OrderReference/SalesOrderID" jsonschema_description:"Number of the sales order, issued by the seller (BT-14)."`
	ReceivingAdviceReference string             `json:"receivingAdviceReference,omitempty" cii:"D/ReceivingAdviceReferencedDocument/IssuerAssignedID" ubl:"ReceiptDocumentReference/ID" jsonschema_description:"Number of the receiving advice (BT-15)."`
	DespatchAdviceReference  string             `json:"despatchAdviceReference,omitempty" cii:"D/DespatchAdviceReferencedDocument/IssuerAssignedID" ubl:"DespatchDocumentReference/ID" jsonschema_description:"Number of the despatch advice (BT-16)."`
	TenderReference          string             `json:"tenderReference,omitempty" cii:"A/AdditionalReferencedDocument[TypeCode=50]/IssuerAssignedID" ubl:"OriginatorDocumentReference/ID" jsonschema_description:"Number of the call for tender or of the lot (BT-17)."`
	InvoicedObject           *ObjectReference   `json:"invoicedObject,omitempty" cii:"A/AdditionalReferencedDocument[TypeCode=130]" ubl:"AdditionalDocumentReference[DocumentTypeCode=130]" jsonschema_description:"Object that is invoiced, such as a meter or a subscription (BT-18)."`
	AccountingReference      string             `json:"accountingReference,omitempty" cii:"S/ReceivableSpecifiedTradeAccountingAccount/ID" ubl:"AccountingCost" jsonschema_description:"Place in the buyer's accounts where the invoice is booked (BT-19)."`
	Notes                    []Note             `json:"notes,omitempty" cii:"rsm:ExchangedDocument/IncludedNote" ubl:"cbc:Note" jsonschema_description:"Notes about the invoice (BG-1)."`
	PrecedingInvoices        []PrecedingInvoice `json:"precedingInvoices,omitempty" cii:"S/InvoiceReferencedDocument" ubl:"BillingReference+/InvoiceDocumentReference" jsonschema_description:"Invoices that this one corrects or completes (BG-3)."`
	Seller                   *Party             `json:"seller,omitempty" cii:"A/SellerTradeParty" ubl:"AccountingSupplierParty/Party" jsonschema_description:"Seller (BG-4)."`
	Buyer                    *Party             `json:"buyer,omitempty" cii:"A/BuyerTradeParty" ubl:"AccountingCustomerParty/Party" jsonschema_description:"Buyer (BG-7)."`
	Payee                    *Payee             `json:"payee,omitempty" cii:"S/PayeeTradeParty" ubl:"PayeeParty" jsonschema_description:"Recipient of the payment, if not the seller (BG-10)."`
	TaxRepresentative        *TaxRepresentative `json:"taxRepresentative,omitempty" cii:"A/SellerTaxRepresentativeTradeParty" ubl:"TaxRepresentativeParty" jsonschema_description:"Tax representative of the seller (BG-11)."`
	Delivery                 *Delivery          `json:"delivery,omitempty" cii:"." ubl:"Delivery" jsonschema_description:"Delivery of the goods or services (BG-13)."`
	Period                   *Period            `json:"period,omitempty" cii:"S/BillingSpecifiedPeriod" ubl:"InvoicePeriod" jsonschema_description:"Period that is invoiced (BG-14)."`
	Lines                    []Line             `json:"lines,omitempty" cii:"rsm:SupplyChainTradeTransaction/IncludedSupplyChainTradeLineItem" ubl:"InvoiceLine" jsonschema_description:"Lines of the invoice (BG-25)."`
	Allowances               []Allowance        `json:"allowances,omitempty" cii:"S/SpecifiedTradeAllowanceCharge[ChargeIndicator/udt:Indicator=false]" ubl:"AllowanceCharge[ChargeIndicator=false]" jsonschema_description:"Allowances on the whole invoice, such as discounts (BG-20)."`
	Charges                  []Allowance        `json:"charges,omitempty" cii:"S/SpecifiedTradeAllowanceCharge[ChargeIndicator/udt:Indicator=true]" ubl:"AllowanceCharge[ChargeIndicator=true]" jsonschema_description:"Charges on the whole invoice, such as freight (BG-21)."`
	Taxes                    []Tax              `json:"taxes,omitempty" cii:"S/ApplicableTradeTax[TypeCode=VAT]" ubl:"TaxTotal[TaxAmount/@currencyID=$currency]/TaxSubtotal" jsonschema_description:"VAT by category and rate (BG-23)."`
	Totals                   *Totals            `json:"totals,omitempty" cii:"." ubl:"." jsonschema_description:"Totals of the invoice (BG-22)."`
	Payments                 []Payment          `json:"payments,omitempty" cii:"S/SpecifiedTradeSettlementPaymentMeans" ubl:"PaymentMeans" jsonschema_description:"Ways to pay: one item per account, card or other means (BG-16)."`
	DueDate                  Date               `json:"dueDate,omitempty" cii:"S/SpecifiedTradePaymentTerms/DueDateDateTime" ubl:"DueDate" jsonschema_description:"Date by which the invoice is to be paid, YYYY-MM-DD (BT-9)."`
	PaymentTerms             FreeText           `json:"paymentTerms,omitempty" cii:"S/SpecifiedTradePaymentTerms/Description" ubl:"PaymentTerms/cbc:Note" jsonschema_description:"Terms of payment as text (BT-20)."`
	PaymentReference         string             `json:"paymentReference,omitempty" cii:"S/PaymentReference" ubl:"PaymentMeans/PaymentID" jsonschema_description:"Text that the payer puts on the payment, such as the invoice number (BT-83)."`
	DirectDebit              *DirectDebit       `json:"directDebit,omitempty" cii:"." ubl:"." jsonschema_description:"Direct debit by the seller (BG-19)."`
	TaxPointDate             Date               `json:"taxPointDate,omitempty" cii:"S/ApplicableTradeTax[TypeCode=VAT]/TaxPointDate/udt:DateString[@format=102]" ubl:"TaxPointDate" jsonschema_description:"Date when VAT becomes due, YYYY-MM-DD (BT-7)."`
	TaxPointCode             TaxPointCode       `json:"taxPointCode,omitempty" cii:"S/ApplicableTradeTax[TypeCode=VAT]/DueDateTypeCode" ubl:"InvoicePeriod/DescriptionCode" jsonschema_description:"Event when VAT becomes due by UNTDID 2005: 3 issue, 35 delivery, 432 payment (BT-8)."`
	Attachments              []Attachment       `json:"attachments,omitempty" cii:"A/AdditionalReferencedDocument[TypeCode!=50|916][TypeCode!=130]" ubl:"AdditionalDocumentReference[DocumentTypeCode!=130][DocumentTypeCode!=50]" jsonschema_description:"Supporting documents, attached or by URL (BG-24)."`
}

// Identifier is an identifier with its scheme.
type Identifier struct {
	Value  string `json:"value,omitempty" cii:"." ubl:"." jsonschema_description:"The identifier."`
	Scheme string `json:"scheme,omitempty" cii:"@schemeID" ubl:"@schemeID" jsonschema_description:"Code of the scheme that the identifier belongs to, such as 0088 for GLN."`
}

// ObjectReference identifies an object that is invoiced.
type ObjectReference struct {
	Value  string `json:"value,omitempty" cii:"IssuerAssignedID" ubl:"ID" jsonschema_description:"The identifier (BT-18, BT-128)."`
	Scheme string `json:"scheme,omitempty" cii:"ReferenceTypeCode" ubl:"ID/@schemeID" jsonschema_description:"Kind of the identifier by UNTDID 1153 (BT-18-1, BT-128-1)."`
}

// Note is a text about the invoice.
type Note struct {
	Text        string `json:"text,omitempty" cii:"Content" ubl:"." jsonschema_description:"The text (BT-22)."`
	SubjectCode string `json:"subjectCode,omitempty" cii:"SubjectCode" ubl:"" jsonschema_description:"Subject of the text by UNTDID 4451 (BT-21)."`
}

// PrecedingInvoice is a reference to an earlier invoice.
type PrecedingInvoice struct {
	Number    string `json:"number,omitempty" cii:"IssuerAssignedID" ubl:"ID" jsonschema_description:"Number of the invoice (BT-25)."`
	IssueDate Date   `json:"issueDate,omitempty" cii:"FormattedIssueDateTime/qdt:DateTimeString[@format=102]" ubl:"IssueDate" jsonschema_description:"Its date of issue, YYYY-MM-DD (BT-26)."`
}

// Party is the seller or the buyer.
type Party struct {
	Name              string       `json:"name,omitempty" cii:"Name" ubl:"PartyLegalEntity/RegistrationName" jsonschema_description:"Full name by which the party is registered (BT-27, BT-44)."`
	TradingName       string       `json:"tradingName,omitempty" cii:"SpecifiedLegalOrganization/TradingBusinessName" ubl:"PartyName/Name" jsonschema_description:"Name by which the party is known, if another (BT-28, BT-45)."`
	Identifiers       []Identifier `json:"identifiers,omitempty" cii:"ID|GlobalID" ubl:"PartyIdentification+/cbc:ID[@schemeID!=SEPA]" jsonschema_description:"Identifiers of the party; a buyer has one at most (BT-29, BT-46)."`
	LegalRegistration *Identifier  `json:"legalRegistration,omitempty" cii:"SpecifiedLegalOrganization/ID" ubl:"PartyLegalEntity/cbc:CompanyID" jsonschema_description:"Number in a register of companies or persons (BT-30, BT-47)."`
	VATID             string       `json:"vatId,omitempty" cii:"SpecifiedTaxRegistration[ID/@schemeID=VA]/ID" ubl:"PartyTaxScheme[TaxScheme/ID=VAT]/CompanyID" jsonschema_description:"VAT identifier with the prefix of its country (BT-31, BT-48)."`
	TaxNumber         string       `json:"taxNumber,omitempty" cii:"SpecifiedTaxRegistration[ID/@schemeID=FC]/ID" ubl:"PartyTaxScheme[TaxScheme/ID!=VAT|FC]/CompanyID" jsonschema_description:"Local tax number of the seller (BT-32)."`
	LegalForm         string       `json:"legalForm,omitempty" cii:"Description" ubl:"PartyLegalEntity/CompanyLegalForm" jsonschema_description:"Further legal information about the seller, such as its share capital (BT-33)."`
	ElectronicAddress *Identifier  `json:"electronicAddress,omitempty" cii:"URIUniversalCommunication/URIID" ubl:"cbc:EndpointID" jsonschema_description:"Address for electronic documents (BT-34, BT-49)."`
	Address           *Address     `json:"address,omitempty" cii:"PostalTradeAddress" ubl:"PostalAddress" jsonschema_description:"Postal address (BG-5, BG-8)."`
	Contact           *Contact     `json:"contact,omitempty" cii:"DefinedTradeContact" ubl:"Contact" jsonschema_description:"Contact (BG-6, BG-9)."`
}

// Address is a postal address.
type Address struct {
	Line1       string `json:"line1,omitempty" cii:"LineOne" ubl:"StreetName" jsonschema_description:"Street and number, or post box (BT-35, BT-50, BT-64, BT-75)."`
	Line2       string `json:"line2,omitempty" cii:"LineTwo" ubl:"AdditionalStreetName" jsonschema_description:"Second line (BT-36, BT-51, BT-65, BT-76)."`
	Line3       string `json:"line3,omitempty" cii:"LineThree" ubl:"AddressLine/cbc:Line" jsonschema_description:"Third line (BT-162, BT-163, BT-164, BT-165)."`
	City        string `json:"city,omitempty" cii:"CityName" ubl:"CityName" jsonschema_description:"City (BT-37, BT-52, BT-66, BT-77)."`
	PostCode    string `json:"postCode,omitempty" cii:"PostcodeCode" ubl:"PostalZone" jsonschema_description:"Post code (BT-38, BT-53, BT-67, BT-78)."`
	Subdivision string `json:"subdivision,omitempty" cii:"CountrySubDivisionName" ubl:"CountrySubentity" jsonschema_description:"Region or state (BT-39, BT-54, BT-68, BT-79)."`
	Country     string `json:"country,omitempty" cii:"CountryID" ubl:"Country/IdentificationCode" jsonschema_description:"Country by ISO 3166-1, such as DE (BT-40, BT-55, BT-69, BT-80)."`
}

// Contact is a person or department.
type Contact struct {
	Name  string `json:"name,omitempty" cii:"PersonName|DepartmentName" ubl:"Name" jsonschema_description:"Person or department (BT-41, BT-56)."`
	Phone string `json:"phone,omitempty" cii:"TelephoneUniversalCommunication/CompleteNumber" ubl:"Telephone" jsonschema_description:"Telephone number (BT-42, BT-57)."`
	Email string `json:"email,omitempty" cii:"EmailURIUniversalCommunication/URIID" ubl:"ElectronicMail" jsonschema_description:"Email address (BT-43, BT-58)."`
}

// Payee is the recipient of the payment.
type Payee struct {
	Name              string      `json:"name,omitempty" cii:"Name" ubl:"PartyName/Name" jsonschema_description:"Name of the payee (BT-59)."`
	Identifier        *Identifier `json:"identifier,omitempty" cii:"ID|GlobalID" ubl:"PartyIdentification/cbc:ID[@schemeID!=SEPA]" jsonschema_description:"Identifier of the payee (BT-60)."`
	LegalRegistration *Identifier `json:"legalRegistration,omitempty" cii:"SpecifiedLegalOrganization/ID" ubl:"PartyLegalEntity/cbc:CompanyID" jsonschema_description:"Number in a register of companies or persons (BT-61)."`
}

// TaxRepresentative represents the seller before the tax authority.
type TaxRepresentative struct {
	Name    string   `json:"name,omitempty" cii:"Name" ubl:"PartyName/Name" jsonschema_description:"Name of the representative (BT-62)."`
	VATID   string   `json:"vatId,omitempty" cii:"SpecifiedTaxRegistration[ID/@schemeID=VA]/ID" ubl:"PartyTaxScheme[TaxScheme/ID=VAT]/CompanyID" jsonschema_description:"VAT identifier with the prefix of its country (BT-63)."`
	Address *Address `json:"address,omitempty" cii:"PostalTradeAddress" ubl:"PostalAddress" jsonschema_description:"Postal address (BG-12)."`
}

// Delivery states where and when goods or services were delivered.
type Delivery struct {
	Name     string      `json:"name,omitempty" cii:"D/ShipToTradeParty/Name" ubl:"DeliveryParty/PartyName/Name" jsonschema_description:"Name of the recipient (BT-70)."`
	Location *Identifier `json:"location,omitempty" cii:"D/ShipToTradeParty/ID|D/ShipToTradeParty/GlobalID" ubl:"DeliveryLocation/cbc:ID" jsonschema_description:"Identifier of the place (BT-71)."`
	Date     Date        `json:"date,omitempty" cii:"D/ActualDeliverySupplyChainEvent/OccurrenceDateTime" ubl:"ActualDeliveryDate" jsonschema_description:"Date of the delivery, YYYY-MM-DD (BT-72)."`
	Address  *Address    `json:"address,omitempty" cii:"D/ShipToTradeParty/PostalTradeAddress" ubl:"DeliveryLocation/Address" jsonschema_description:"Postal address (BG-15)."`
}

// Period is a range of days.
type Period struct {
	Start Date `json:"start,omitempty" cii:"StartDateTime" ubl:"StartDate" jsonschema_description:"First day, YYYY-MM-DD (BT-73, BT-134)."`
	End   Date `json:"end,omitempty" cii:"EndDateTime" ubl:"EndDate" jsonschema_description:"Last day, YYYY-MM-DD (BT-74, BT-135)."`
}

// Allowance is an allowance, or a charge, on the whole invoice.
type Allowance struct {
	Amount     *Decimal `json:"amount,omitempty" cii:"ActualAmount" ubl:"Amount[@currencyID:=$currency]" jsonschema_description:"Amount without VAT (BT-92, BT-99)."`
	Base       *Decimal `json:"base,omitempty" cii:"BasisAmount" ubl:"BaseAmount[@currencyID:=$currency]" jsonschema_description:"Amount that the percentage is of (BT-93, BT-100)."`
	Percent    *Decimal `json:"percent,omitempty" cii:"CalculationPercent" ubl:"MultiplierFactorNumeric" jsonschema_description:"Percentage (BT-94, BT-101)."`
	Category   string   `json:"taxCategory,omitempty" cii:"CategoryTradeTax[TypeCode=VAT]/CategoryCode" ubl:"TaxCategory[TaxScheme/ID=VAT]/ID" jsonschema_description:"VAT category by UNTDID 5305, such as S (BT-95, BT-102)."`
	Rate       *Decimal `json:"taxRate,omitempty" cii:"CategoryTradeTax[TypeCode=VAT]/RateApplicablePercent" ubl:"TaxCategory[TaxScheme/ID=VAT]/Percent" jsonschema_description:"VAT rate in percent (BT-96, BT-103)."`
	Reason     string   `json:"reason,omitempty" cii:"Reason" ubl:"AllowanceChargeReason" jsonschema_description:"Reason as text (BT-97, BT-104)."`
	ReasonCode string   `json:"reasonCode,omitempty" cii:"ReasonCode" ubl:"AllowanceChargeReasonCode" jsonschema_description:"Reason by UNTDID 5189 for allowances and 7161 for charges (BT-98, BT-105)."`
}

// LineAllowance is an allowance, or a charge, on one line.
type LineAllowance struct {
	Amount     *Decimal `json:"amount,omitempty" cii:"ActualAmount" ubl:"Amount[@currencyID:=$currency]" jsonschema_description:"Amount without VAT (BT-136, BT-141)."`
	Base       *Decimal `json:"base,omitempty" cii:"BasisAmount" ubl:"BaseAmount[@currencyID:=$currency]" jsonschema_description:"Amount that the percentage is of (BT-137, BT-142)."`
	Percent    *Decimal `json:"percent,omitempty" cii:"CalculationPercent" ubl:"MultiplierFactorNumeric" jsonschema_description:"Percentage (BT-138, BT-143)."`
	Reason     string   `json:"reason,omitempty" cii:"Reason" ubl:"AllowanceChargeReason" jsonschema_description:"Reason as text (BT-139, BT-144)."`
	ReasonCode string   `json:"reasonCode,omitempty" cii:"ReasonCode" ubl:"AllowanceChargeReasonCode" jsonschema_description:"Reason by UNTDID 5189 for allowances and 7161 for charges (BT-140, BT-145)."`
}

// Tax is the VAT of one category and rate.
type Tax struct {
	Base                *Decimal `json:"base,omitempty" cii:"BasisAmount" ubl:"TaxableAmount[@currencyID:=$currency]" jsonschema_description:"Amount that is taxed (BT-116)."`
	Amount              *Decimal `json:"amount,omitempty" cii:"CalculatedAmount" ubl:"TaxAmount[@currencyID:=$currency]" jsonschema_description:"VAT (BT-117)."`
	Category            string   `json:"category,omitempty" cii:"CategoryCode" ubl:"TaxCategory[TaxScheme/ID=VAT]/ID" jsonschema_description:"VAT category by UNTDID 5305: S standard, Z zero rate, E exempt, AE reverse charge, K intra-community supply, G export, O outside VAT, L IGIC, M IPSI (BT-118)."`
	Rate                *Decimal `json:"rate,omitempty" cii:"RateApplicablePercent" ubl:"TaxCategory[TaxScheme/ID=VAT]/Percent" jsonschema_description:"VAT rate in percent (BT-119)."`
	ExemptionReason     string   `json:"exemptionReason,omitempty" cii:"ExemptionReason" ubl:"TaxCategory[TaxScheme/ID=VAT]/TaxExemptionReason" jsonschema_description:"Reason why no VAT is charged (BT-120)."`
	ExemptionReasonCode string   `json:"exemptionReasonCode,omitempty" cii:"ExemptionReasonCode" ubl:"TaxCategory[TaxScheme/ID=VAT]/TaxExemptionReasonCode" jsonschema_description:"The reason by the list VATEX, such as VATEX-EU-AE (BT-121)."`
}

// Totals are the sums of an invoice.
type Totals struct {
	Lines        *Decimal `json:"lines,omitempty" cii:"S/SpecifiedTradeSettlementHeaderMonetarySummation/LineTotalAmount" ubl:"LegalMonetaryTotal/LineExtensionAmount[@currencyID:=$currency]" jsonschema_description:"Sum of the net amounts of the lines (BT-106)."`
	Allowances   *Decimal `json:"allowances,omitempty" cii:"S/SpecifiedTradeSettlementHeaderMonetarySummation/AllowanceTotalAmount" ubl:"LegalMonetaryTotal/AllowanceTotalAmount[@currencyID:=$currency]" jsonschema_description:"Sum of the allowances on the invoice (BT-107)."`
	Charges      *Decimal `json:"charges,omitempty" cii:"S/SpecifiedTradeSettlementHeaderMonetarySummation/ChargeTotalAmount" ubl:"LegalMonetaryTotal/ChargeTotalAmount[@currencyID:=$currency]" jsonschema_description:"Sum of the charges on the invoice (BT-108)."`
	WithoutTax   *Decimal `json:"withoutTax,omitempty" cii:"S/SpecifiedTradeSettlementHeaderMonetarySummation/TaxBasisTotalAmount" ubl:"LegalMonetaryTotal/TaxExclusiveAmount[@currencyID:=$currency]" jsonschema_description:"Total without VAT (BT-109)."`
	Tax          *Decimal `json:"tax,omitempty" cii:"S/SpecifiedTradeSettlementHeaderMonetarySummation/TaxTotalAmount[@currencyID=$currency]" ubl:"TaxTotal[TaxAmount/@currencyID=$currency]/TaxAmount" jsonschema_description:"VAT of the invoice (BT-110)."`
	AccountedTax *Decimal `json:"taxInTaxCurrency,omitempty" cii:"S/SpecifiedTradeSettlementHeaderMonetarySummation/TaxTotalAmount[@currencyID=$taxCurrency]" ubl:"TaxTotal[TaxAmount/@currencyID=$taxCurrency]/TaxAmount" jsonschema_description:"VAT of the invoice in the currency of taxCurrency (BT-111)."`
	WithTax      *Decimal `json:"withTax,omitempty" cii:"S/SpecifiedTradeSettlementHeaderMonetarySummation/GrandTotalAmount" ubl:"LegalMonetaryTotal/TaxInclusiveAmount[@currencyID:=$currency]" jsonschema_description:"Total with VAT (BT-112)."`
	Paid         *Decimal `json:"paid,omitempty" cii:"S/SpecifiedTradeSettlementHeaderMonetarySummation/TotalPrepaidAmount" ubl:"LegalMonetaryTotal/PrepaidAmount[@currencyID:=$currency]" jsonschema_description:"Amount that has been paid (BT-113)."`
	Rounding     *Decimal `json:"rounding,omitempty" cii:"S/SpecifiedTradeSettlementHeaderMonetarySummation/RoundingAmount" ubl:"LegalMonetaryTotal/PayableRoundingAmount[@currencyID:=$currency]" jsonschema_description:"Amount that is added to round the amount due (BT-114)."`
	Due          *Decimal `json:"due,omitempty" cii:"S/SpecifiedTradeSettlementHeaderMonetarySummation/DuePayableAmount" ubl:"LegalMonetaryTotal/PayableAmount[@currencyID:=$currency]" jsonschema_description:"Amount due for payment (BT-115)."`
}

// Payment is a way to pay.
type Payment struct {
	MeansCode   string    `json:"meansCode,omitempty" cii:"TypeCode" ubl:"PaymentMeansCode" jsonschema_description:"Means of payment by UNTDID 4461: 58 SEPA credit transfer, 30 credit transfer, 59 SEPA direct debit, 48 card, 10 cash (BT-81)."`
	Means       string    `json:"means,omitempty" cii:"Information" ubl:"PaymentMeansCode/@name" jsonschema_description:"Means of payment as text (BT-82)."`
	Account     AccountID `json:"account,omitempty" cii:"PayeePartyCreditorFinancialAccount/IBANID|PayeePartyCreditorFinancialAccount/ProprietaryID" ubl:"PayeeFinancialAccount/ID" jsonschema_description:"IBAN, or another account number, of the account to pay to (BT-84)."`
	AccountName string    `json:"accountName,omitempty" cii:"PayeePartyCreditorFinancialAccount/AccountName" ubl:"PayeeFinancialAccount/Name" jsonschema_description:"Holder of the account (BT-85)."`
	BIC         string    `json:"bic,omitempty" cii:"PayeeSpecifiedCreditorFinancialInstitution/BICID" ubl:"PayeeFinancialAccount/FinancialInstitutionBranch/ID" jsonschema_description:"BIC of the bank (BT-86)."`
	Card        *Card     `json:"card,omitempty" cii:"ApplicableTradeSettlementFinancialCard" ubl:"CardAccount[NetworkID:=n/a]" jsonschema_description:"Card that was charged (BG-18)."`
}

// Card is a payment card.
type Card struct {
	Number string `json:"number,omitempty" cii:"ID" ubl:"PrimaryAccountNumberID" jsonschema_description:"Last four to six digits of the card number (BT-87)."`
	Holder string `json:"holder,omitempty" cii:"CardholderName" ubl:"HolderName" jsonschema_description:"Name of the holder (BT-88)."`
}

// DirectDebit states how the seller collects the payment.
type DirectDebit struct {
	Mandate        string `json:"mandate,omitempty" cii:"S/SpecifiedTradePaymentTerms/DirectDebitMandateID" ubl:"PaymentMeans/PaymentMandate/ID" jsonschema_description:"Reference of the mandate (BT-89)."`
	CreditorID     string `json:"creditorId,omitempty" cii:"S/CreditorReferenceID" ubl:"AccountingSupplierParty/Party/PartyIdentification+/ID[@schemeID=SEPA]" jsonschema_description:"Creditor identifier of the seller or payee (BT-90)."`
	DebitedAccount string `json:"debitedAccount,omitempty" cii:"S/SpecifiedTradeSettlementPaymentMeans/PayerPartyDebtorFinancialAccount/IBANID" ubl:"PaymentMeans/PaymentMandate/PayerFinancialAccount/ID" jsonschema_description:"IBAN of the account that is debited (BT-91)."`
}

// Attachment is a supporting document.
type Attachment struct {
	Reference   string `json:"reference,omitempty" cii:"IssuerAssignedID" ubl:"ID" jsonschema_description:"Reference of the document (BT-122)."`
	Description string `json:"description,omitempty" cii:"Name" ubl:"DocumentDescription" jsonschema_description:"Description of the document (BT-123)."`
	URL         string `json:"url,omitempty" cii:"URIID" ubl:"Attachment/ExternalReference/cbc:URI" jsonschema_description:"URL of the document (BT-124)."`
	Content     []byte `json:"content,omitempty" cii:"AttachmentBinaryObject" ubl:"Attachment/EmbeddedDocumentBinaryObject" jsonschema_description:"The document itself as Base64 (BT-125)."`
	MIMEType    string `json:"mimeType,omitempty" cii:"AttachmentBinaryObject/@mimeCode" ubl:"Attachment/EmbeddedDocumentBinaryObject/@mimeCode" jsonschema_description:"MIME type of the content (BT-125-1)."`
	Filename    string `json:"filename,omitempty" cii:"AttachmentBinaryObject/@filename" ubl:"Attachment/EmbeddedDocumentBinaryObject/@filename" jsonschema_description:"File name of the content (BT-125-2)."`
}

// Line is a line of an invoice.
type Line struct {
	ID                  string           `json:"id,omitempty" cii:"AssociatedDocumentLineDocument/LineID" ubl:"ID" jsonschema_description:"Number of the line, unique in the invoice (BT-126)."`
	Note                string           `json:"note,omitempty" cii:"AssociatedDocumentLineDocument/IncludedNote/Content" ubl:"Note" jsonschema_description:"Note about the line (BT-127)."`
	InvoicedObject      *ObjectReference `json:"invoicedObject,omitempty" cii:"SpecifiedLineTradeSettlement/AdditionalReferencedDocument[TypeCode=130]" ubl:"DocumentReference[DocumentTypeCode:=130]" jsonschema_description:"Object that is invoiced (BT-128)."`
	Quantity            *Decimal         `json:"quantity,omitempty" cii:"SpecifiedLineTradeDelivery/BilledQuantity" ubl:"InvoicedQuantity" jsonschema_description:"Quantity (BT-129)."`
	Unit                string           `json:"unit,omitempty" cii:"SpecifiedLineTradeDelivery/BilledQuantity/@unitCode" ubl:"InvoicedQuantity/@unitCode" jsonschema_description:"Unit by UN/ECE recommendation 20, such as C62 for pieces and HUR for hours (BT-130)."`
	NetAmount           *Decimal         `json:"netAmount,omitempty" cii:"SpecifiedLineTradeSettlement/SpecifiedTradeSettlementLineMonetarySummation/LineTotalAmount" ubl:"LineExtensionAmount[@currencyID:=$currency]" jsonschema_description:"Amount of the line without VAT, its allowances and charges included (BT-131)."`
	OrderLine           string           `json:"orderLine,omitempty" cii:"SpecifiedLineTradeAgreement/BuyerOrderReferencedDocument/LineID" ubl:"OrderLineReference/LineID" jsonschema_description:"Line of the purchase order (BT-132)."`
	AccountingReference string           `json:"accountingReference,omitempty" cii:"SpecifiedLineTradeSettlement/ReceivableSpecifiedTradeAccountingAccount/ID" ubl:"AccountingCost" jsonschema_description:"Place in the buyer's accounts where the line is booked (BT-133)."`
	Period              *Period          `json:"period,omitempty" cii:"SpecifiedLineTradeSettlement/BillingSpecifiedPeriod" ubl:"InvoicePeriod" jsonschema_description:"Period that the line is for (BG-26)."`
	Allowances          []LineAllowance  `json:"allowances,omitempty" cii:"SpecifiedLineTradeSettlement/SpecifiedTradeAllowanceCharge[ChargeIndicator/udt:Indicator=false]" ubl:"AllowanceCharge[ChargeIndicator=false]" jsonschema_description:"Allowances on the line (BG-27)."`
	Charges             []LineAllowance  `json:"charges,omitempty" cii:"SpecifiedLineTradeSettlement/SpecifiedTradeAllowanceCharge[ChargeIndicator/udt:Indicator=true]" ubl:"AllowanceCharge[ChargeIndicator=true]" jsonschema_description:"Charges on the line (BG-28)."`
	Price               *Decimal         `json:"price,omitempty" cii:"SpecifiedLineTradeAgreement/NetPriceProductTradePrice/ChargeAmount" ubl:"Price/PriceAmount[@currencyID:=$currency]" jsonschema_description:"Price without VAT, after the discount (BT-146)."`
	Discount            *Decimal         `json:"priceDiscount,omitempty" cii:"SpecifiedLineTradeAgreement/GrossPriceProductTradePrice/AppliedTradeAllowanceCharge[ChargeIndicator/udt:Indicator=false]/ActualAmount" ubl:"Price/AllowanceCharge[ChargeIndicator=false]/Amount[@currencyID:=$currency]" jsonschema_description:"Discount that is subtracted from the gross price (BT-147)."`
	GrossPrice          *Decimal         `json:"grossPrice,omitempty" cii:"SpecifiedLineTradeAgreement/GrossPriceProductTradePrice/ChargeAmount" ubl:"Price/AllowanceCharge[ChargeIndicator=false]/BaseAmount[@currencyID:=$currency]" jsonschema_description:"Price without VAT, before the discount (BT-148)."`
	PriceQuantity       *Decimal         `json:"priceQuantity,omitempty" cii:"SpecifiedLineTradeAgreement/NetPriceProductTradePrice/BasisQuantity|SpecifiedLineTradeAgreement/GrossPriceProductTradePrice/BasisQuantity" ubl:"Price/BaseQuantity" jsonschema_description:"Quantity that the price is for. Default: 1 (BT-149)."`
	PriceUnit           string           `json:"priceUnit,omitempty" cii:"SpecifiedLineTradeAgreement/NetPriceProductTradePrice/BasisQuantity/@unitCode|SpecifiedLineTradeAgreement/GrossPriceProductTradePrice/BasisQuantity/@unitCode" ubl:"Price/BaseQuantity/@unitCode" jsonschema_description:"Unit of priceQuantity (BT-150)."`
	Category            string           `json:"taxCategory,omitempty" cii:"SpecifiedLineTradeSettlement/ApplicableTradeTax[TypeCode=VAT]/CategoryCode" ubl:"Item/ClassifiedTaxCategory[TaxScheme/ID=VAT]/ID" jsonschema_description:"VAT category by UNTDID 5305, such as S (BT-151)."`
	Rate                *Decimal         `json:"taxRate,omitempty" cii:"SpecifiedLineTradeSettlement/ApplicableTradeTax[TypeCode=VAT]/RateApplicablePercent" ubl:"Item/ClassifiedTaxCategory[TaxScheme/ID=VAT]/Percent" jsonschema_description:"VAT rate in percent (BT-152)."`
	Name                string           `json:"name,omitempty" cii:"SpecifiedTradeProduct/Name" ubl:"Item/Name" jsonschema_description:"Name of the item (BT-153)."`
	Description         string           `json:"description,omitempty" cii:"SpecifiedTradeProduct/Description" ubl:"Item/Description" jsonschema_description:"Description of the item (BT-154)."`
	SellerItemID        string           `json:"sellerItemId,omitempty" cii:"SpecifiedTradeProduct/SellerAssignedID" ubl:"Item/SellersItemIdentification/ID" jsonschema_description:"The seller's number of the item (BT-155)."`
	BuyerItemID         string           `json:"buyerItemId,omitempty" cii:"SpecifiedTradeProduct/BuyerAssignedID" ubl:"Item/BuyersItemIdentification/ID" jsonschema_description:"The buyer's number of the item (BT-156)."`
	StandardItemID      *Identifier      `json:"standardItemId,omitempty" cii:"SpecifiedTradeProduct/GlobalID" ubl:"Item/StandardItemIdentification/cbc:ID" jsonschema_description:"Number of the item in a registered scheme, such as GTIN in 0160 (BT-157)."`
	Classifications     []Classification `json:"classifications,omitempty" cii:"SpecifiedTradeProduct/DesignatedProductClassification" ubl:"Item/CommodityClassification" jsonschema_description:"Classes of the item (BT-158)."`
	OriginCountry       string           `json:"originCountry,omitempty" cii:"SpecifiedTradeProduct/OriginTradeCountry/ID" ubl:"Item/OriginCountry/IdentificationCode" jsonschema_description:"Country that the item is from by ISO 3166-1 (BT-159)."`
	Attributes          []Attribute      `json:"attributes,omitempty" cii:"SpecifiedTradeProduct/ApplicableProductCharacteristic" ubl:"Item/AdditionalItemProperty" jsonschema_description:"Properties of the item (BG-32)."`
}

// Classification is the class of an item.
type Classification struct {
	Code    string `json:"code,omitempty" cii:"ClassCode" ubl:"ItemClassificationCode" jsonschema_description:"Code of the class (BT-158)."`
	List    string `json:"list,omitempty" cii:"ClassCode/@listID" ubl:"ItemClassificationCode/@listID" jsonschema_description:"List of the code by UNTDID 7143 (BT-158-1)."`
	Version string `json:"version,omitempty" cii:"ClassCode/@listVersionID" ubl:"ItemClassificationCode/@listVersionID" jsonschema_description:"Version of the list (BT-158-2)."`
}

// Attribute is a property of an item.
type Attribute struct {
	Name  string `json:"name,omitempty" cii:"Description" ubl:"Name" jsonschema_description:"Name of the property (BT-160)."`
	Value string `json:"value,omitempty" cii:"Value" ubl:"Value" jsonschema_description:"Value of the property (BT-161)."`
}
